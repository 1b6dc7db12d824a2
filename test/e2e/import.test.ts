/** Arriving with an existing pi, and leaving: a real agent directory in, real sandboxes, and out again. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { PODMAN_INSTALLED, readyEngine } from '../setup/engines.ts';
import { generateHistory } from '../setup/history-generator.ts';
import { type Installation, installation } from '../setup/installation.ts';
import { makePiWorld, runPi } from '../setup/pi.ts';

const SECRET = 'sk-never-to-be-printed-0123456789';

let here: Installation;
let agent: string;
let work: string;
let own: string;
/** Sessions by path below `sessions/`, as they were before anything was imported. */
let original: Map<string, Buffer>;
let mine: string;

beforeAll(async () => {
  here = await installation();
  [work, own] = [here.project(undefined, 'shop'), here.project(undefined, 'diary')];
  here.configure(
    '.env',
    `DOMAINS=work,private\nDOMAIN_WORK_PATHS=${work}\nDOMAIN_PRIVATE_PATHS=${own}\nSESSIONS_RETENTION_DAYS=0\n`,
  );
  agent = join(here.directory, 'home/.pi/agent');
  const sessions = join(agent, 'sessions');
  mkdirSync(sessions, { recursive: true });
  const directories = [work, own, join(work, 'packages/a b'), '/nowhere/any more'];
  for (const _ of generateHistory(sessions, {
    seed: 'import',
    sessions: 40,
    now: new Date(),
    directories,
    medianBytes: 3_000,
    largestBytes: 300_000,
    flat: 0.1,
    foreign: true,
  })) {
  }
  const world = await makePiWorld(join(here.directory, 'plain'));
  const plain = {
    ...world,
    project: work,
    environment: { ...world.environment, PI_CODING_AGENT_DIR: agent },
  };
  for (const words of ['the first thing I said', 'the second thing I said'])
    expect((await runPi(plain, ['-p', words])).code).toBe(0);
  file(
    'auth.json',
    JSON.stringify({ fake: { type: 'api_key', key: SECRET }, other: { type: 'api_key', key: '!pass show' } }),
  );
  file('trust.json', JSON.stringify({ [work]: true }));
  file('mcp-auth.json', JSON.stringify({ server: { token: SECRET } }));
  file('settings.json', JSON.stringify({ quietStartup: true, sessionDir: join(here.directory, 'none') }));
  file('AGENTS.md', 'Say please.\n');
  file('skills/mine/SKILL.md', '---\nname: mine\ndescription: d\n---\n');
  file('skills/mine/run.sh', '#!/bin/sh\n', 0o755);
  symlinkSync('/etc/passwd', join(agent, 'skills/mine/linked'));
  symlinkSync('/etc/passwd', join(agent, 'SYSTEM.md'));
  original = filesBelow(sessions);
  mine =
    [...original.keys()]
      .sort((a, b) => time(b) - time(a))
      .find((path) => textOf(path).includes('the second thing')) ?? '';
  expect(mine).not.toBe('');
});

afterAll(async () => {
  await here.cleanup();
  expect(await here.leftovers()).toEqual([]);
});

function file(path: string, content: string, mode = 0o600): void {
  mkdirSync(dirname(join(agent, path)), { recursive: true });
  writeFileSync(join(agent, path), content);
  chmodSync(join(agent, path), mode);
}

const time = (path: string): number => statSync(join(agent, 'sessions', path)).mtimeMs;
const textOf = (path: string): string => original.get(path)?.toString('utf8') ?? '';

/** Regular files named like Sessions, by path. */
function filesBelow(directory: string, below = ''): Map<string, Buffer> {
  const found = new Map<string, Buffer>();
  for (const entry of readdirSync(join(directory, below), { withFileTypes: true })) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory())
      for (const [name, content] of filesBelow(directory, path)) found.set(name, content);
    else if (entry.isFile() && entry.name.endsWith('.jsonl'))
      found.set(path, readFileSync(join(directory, path)));
  }
  return found;
}

/** The recorded directory, as a test reads it. */
function cwdOf(content: Buffer): string | undefined {
  try {
    const { type, cwd } = JSON.parse(content.toString('utf8').split('\n')[0] ?? '');
    return type === 'session' ? cwd : undefined;
  } catch {
    return undefined;
  }
}

interface Row {
  domain: string;
  history: { count: number };
  sessions: { cwd?: string }[];
}

async function listed(): Promise<Record<string, Row>> {
  const { stdout } = await here.run(['sessions', 'list', '--json', '--sessions']);
  const { domains }: { domains: Row[] } = JSON.parse(stdout);
  return Object.fromEntries(domains.map((row) => [row.domain, row]));
}

describe('S15: import', () => {
  it('S15: a dry run shows what would come over, and makes nothing', async () => {
    const { exitCode, stdout, stderr } = await here.run(['import', '--dry-run']);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(stdout).toMatch(/^Sessions +domain work +\d+/m);
    expect(stdout).toMatch(/^Sessions +domain private +\d+/m);
    expect(stdout).toMatch(/^auth\.json +all domains/m);
    expect(stderr).toContain('/nowhere/any more');
    expect(stderr).toContain('the key of other in auth.json is a command');
    expect(stderr).toContain('sessionDir of settings.json is left out');
    expect(stderr).toContain('mcp-auth.json: it belongs to one domain');
    expect(stderr).toContain('skills/mine/linked: it is a link');
    expect(stdout + stderr).not.toContain(SECRET);
    expect(await here.leftovers()).toEqual([]);
    expect(readdirSync(here.configDirectory)).toEqual(['.env']);
  });

  it('S15: without a terminal it asks for --yes, and makes nothing', async () => {
    const { exitCode, stderr } = await here.run(['import']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--yes');
    expect(await here.leftovers()).toEqual([]);
  });

  it('S15: each Session is in the domain of its directory, and the source is as it was', async () => {
    const { exitCode, stdout, stderr } = await here.run(['import', '--yes', '--json']);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(stdout + stderr).not.toContain(SECRET);
    const report = JSON.parse(stdout);
    const rows = await listed();
    const cwds = [...original.values()].map(cwdOf);
    const within = (directory: string) => (cwd: string | undefined) => cwd?.startsWith(directory) === true;
    expect(rows.work?.history.count).toBe(cwds.filter(within(work)).length);
    expect(rows.private?.history.count).toBe(cwds.filter(within(own)).length);
    expect(rows.private?.sessions.every(({ cwd }) => within(own)(cwd))).toBe(true);
    expect(report.history.unowned).toEqual([expect.objectContaining({ cwd: '/nowhere/any more' })]);
    expect(filesBelow(join(agent, 'sessions'))).toEqual(original);
    const config = join(here.configDirectory, 'config');
    expect(JSON.parse(readFileSync(join(config, 'settings.json'), 'utf8'))).toEqual({ quietStartup: true });
    expect(statSync(join(config, 'skills/mine/run.sh')).mode & 0o777).toBe(0o755);
    expect(readdirSync(config).sort()).toEqual(['AGENTS.md', 'settings.json', 'skills']);
  });

  it('S15: a second time nothing is copied twice, and nothing of the user is written over', async () => {
    here.configure('config/AGENTS.md', 'mine');
    const { exitCode, stdout } = await here.run(['import', '--yes', '--json']);
    expect(exitCode).toBe(0);
    const report = JSON.parse(stdout);
    for (const domain of report.history.domains)
      expect(domain).toMatchObject({ added: { count: 0 }, there: domain.count });
    expect(report.login).toContainEqual(expect.objectContaining({ name: 'auth.json', outcome: 'there' }));
    expect(report.config).toContainEqual(expect.objectContaining({ file: 'AGENTS.md', outcome: 'kept' }));
    expect(readFileSync(join(here.configDirectory, 'config/AGENTS.md'), 'utf8')).toBe('mine');
  });

  it('S15: pi in a sandbox finds login and decisions, and continues the Session', async () => {
    const look = await here.run([
      'shell',
      work,
      '--',
      'stat',
      '-Lc',
      '%a %u',
      '/home/pi/.pi/agent/auth.json',
    ]);
    expect(look).toMatchObject({ exitCode: 0, stdout: `600 ${here.owner.uid}\n` });
    const inside = await here.run([
      'shell',
      work,
      '--',
      'sh',
      '-c',
      'cat ~/.pi/agent/auth.json ~/.pi/agent/trust.json',
    ]);
    expect(inside.stdout).toContain(SECRET);
    expect(inside.stdout).toContain(JSON.stringify(work));
    const { exitCode, stderr } = await here.run([
      'start',
      work,
      '--demo',
      '--',
      '-c',
      '-p',
      'the third thing I said',
    ]);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    const path = `/home/pi/.pi/agent/sessions/${mine}`;
    const text = await here.run(['shell', work, '--', 'cat', path]);
    expect(text.stdout.startsWith(textOf(mine))).toBe(true);
    expect(text.stdout).toContain('the third thing I said');
  });

  it('S15: another login for the same provider stays, unless --replace-login takes the new one', async () => {
    file(
      'auth.json',
      JSON.stringify({ fake: { type: 'api_key', key: 'sk-another' }, third: { type: 'api_key', key: 'k' } }),
    );
    const kept = JSON.parse((await here.run(['import', '--login', '--yes', '--json'])).stdout);
    expect(kept.login).toContainEqual({ name: 'auth.json', outcome: 'merged', differing: ['fake'] });
    const content = async () =>
      JSON.parse((await here.run(['shell', work, '--', 'cat', '/home/pi/.pi/agent/auth.json'])).stdout);
    expect(await content()).toMatchObject({ fake: { key: SECRET }, other: {}, third: { key: 'k' } });
    await here.run(['import', '--login', '--replace-login', '--yes']);
    expect(await content()).toMatchObject({ fake: { key: 'sk-another' } });
  });
});

describe('S15: export', () => {
  it('S15: the domain must be named where there are several', async () => {
    const { exitCode, stderr } = await here.run(['export', '--to', join(here.directory, 'out'), '--yes']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--all');
    expect(existsSync(join(here.directory, 'out'))).toBe(false);
  });

  it('S15: what was imported is there again byte for byte, and what was continued goes on after it', async () => {
    const to = join(here.directory, 'out');
    const { exitCode, stdout, stderr } = await here.run(['export', '--all', '--to', to, '--yes']);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(stdout + stderr).not.toContain(SECRET);
    const [found, before] = [filesBelow(join(to, 'sessions')), imported()];
    expect([...found.keys()].sort()).toEqual([...before.keys()].sort());
    for (const [path, content] of before) {
      const now = found.get(path) ?? Buffer.alloc(0);
      if (path !== mine) expect(now.equals(content)).toBe(true);
      else expect(now.subarray(0, content.length).equals(content)).toBe(true);
      if (path !== mine) expect(statSync(join(to, 'sessions', path)).mtimeMs).toBeCloseTo(time(path), 1);
    }
    for (const path of ['', 'sessions']) expect(statSync(join(to, path)).mode & 0o777).toBe(0o700);
    expect(statSync(join(to, 'auth.json')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(to, 'AGENTS.md'), 'utf8')).toBe('mine');
    expect(readFileSync(join(to, 'skills/mine/run.sh'), 'utf8')).toBe('#!/bin/sh\n');
    // pi outside of a sandbox would run a key that is a command.
    expect(stderr).toContain('auth.json, other: a sandbox could have written it');
    expect(readFileSync(join(to, 'auth.json'), 'utf8')).not.toContain('!pass');
    expect(existsSync(join(to, 'trust.json'))).toBe(false);
  });

  it('S15: into the directory it came from, nothing there changes', async () => {
    file('auth.json', 'mine');
    const { exitCode } = await here.run(['export', '--all', '--yes']);
    expect(exitCode).toBe(0);
    const found = filesBelow(join(agent, 'sessions'));
    for (const [path, content] of original) expect(found.get(path)?.equals(content)).toBe(true);
    const added = [...found.keys()].filter((path) => !original.has(path));
    expect(added).toEqual([mine.replace(/\.jsonl$/, '-exported.jsonl')]);
    expect(readFileSync(join(agent, 'auth.json'), 'utf8')).toBe('mine');
    rmSync(join(agent, 'sessions', added[0] ?? ''));
  });

  it('S15: links that a sandbox planted are not followed, nor those where it goes', async () => {
    const sessions = '/home/pi/.pi/agent/sessions';
    const script = `cd ${sessions} && mkdir -p x && ln -s /etc/passwd x/link.jsonl && ln -s / rooted.jsonl && ln -s /etc away
      echo '{"type":"session"}' > "x/$(printf 'a\\nb\\033[31m').jsonl"; mkfifo x/fifo.jsonl; mkdir x/directory.jsonl
      ln -s ${own} y`;
    await here.run(['shell', work, '--', 'sh', '-c', script]);
    const to = join(here.directory, 'linked');
    const elsewhere = join(here.directory, 'elsewhere');
    for (const made of [to, elsewhere, join(to, 'sessions')]) mkdirSync(made, { recursive: true });
    const [folder = ''] = [...imported().keys()].map((path) => dirname(path)).filter((name) => name !== '.');
    symlinkSync(elsewhere, join(to, 'sessions', folder));
    symlinkSync(join(elsewhere, 'auth'), join(to, 'auth.json'));
    const { exitCode, stdout, stderr } = await here.run(['export', '--all', '--to', to, '--yes']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(folder);
    expect(stdout + stderr).not.toContain('\u001b[31m');
    expect(readdirSync(elsewhere)).toEqual([]);
    const names = [...filesBelow(join(to, 'sessions')).keys()].filter((path) => path.startsWith('x/'));
    expect(names).toEqual(['x/a\nb\u001b[31m.jsonl']);
    expect(existsSync(join(to, 'sessions/rooted.jsonl'))).toBe(false);
    await here.run(['shell', work, '--', 'sh', '-c', `cd ${sessions} && rm -rf x y away rooted.jsonl`]);
  });

  it.runIf(process.getuid?.() === 0)(
    'S15: a full disk is one clear line, and the next call does the rest',
    async () => {
      const to = join(here.directory, 'small');
      mkdirSync(to);
      await execa('mount', ['-t', 'tmpfs', '-o', 'size=96k', 'tmpfs', to]);
      try {
        const { exitCode, stderr } = await here.run(['export', '--all', '--history', '--to', to, '--yes']);
        expect(exitCode).toBe(1);
        expect(stderr).toMatch(/there is no room for more Sessions/);
        expect(readdirSync(join(to, 'sessions')).filter((name) => name.startsWith('.'))).toEqual([]);
        await execa('mount', ['-o', 'remount,size=64m', to]);
        expect((await here.run(['export', '--all', '--history', '--to', to, '--yes'])).exitCode).toBe(0);
        expect([...filesBelow(join(to, 'sessions')).keys()].sort()).toEqual([...imported().keys()].sort());
      } finally {
        await execa('umount', [to]);
      }
    },
  );
});

it('S15, S19: on Podman, what came in goes out byte for byte', async ({ skip }) => {
  if (!PODMAN_INSTALLED) skip('no Podman here');
  const there = await installation(await readyEngine('podman', inject('e2e')));
  try {
    there.configure('.env', 'SESSIONS_RETENTION_DAYS=0\n');
    const login = { fake: { type: 'api_key', key: SECRET } };
    file('auth.json', JSON.stringify(login));
    const words = ['import', '--from', agent, '--history', '--login', '--yes', '--json'];
    const arrived = await there.run(words);
    expect(arrived.exitCode).toBe(0);
    expect(arrived.stdout + arrived.stderr).not.toContain(SECRET);
    const print = ['shell', there.project(), '--', 'cat', '/home/pi/.pi/agent/auth.json'];
    expect(JSON.parse((await there.run(print)).stdout)).toEqual(login);
    const [{ added }] = JSON.parse(arrived.stdout).history.domains;
    const to = join(there.directory, 'left');
    expect((await there.run(['export', '--to', to, '--yes'])).exitCode).toBe(0);
    expect(JSON.parse(readFileSync(join(to, 'auth.json'), 'utf8'))).toEqual(login);
    expect(statSync(join(to, 'auth.json')).mode & 0o777).toBe(0o600);
    // A second time there is nothing to do.
    expect(JSON.parse((await there.run(words)).stdout).history.domains).toMatchObject([
      { added: { count: 0 }, there: added.count },
    ]);
    const left = filesBelow(join(to, 'sessions'));
    expect(left.size).toBe(added.count);
    expect(left.size).toBeGreaterThan(imported().size);
    expect(left).toEqual(new Map([...original].filter(([path]) => left.has(path))));
  } finally {
    await there.cleanup();
  }
  expect(await there.leftovers()).toEqual([]);
});

describe('S15: killed at any moment, and run again', () => {
  /** Milliseconds after which it is killed: a start of Node, the first helper, the middle. */
  const MOMENTS = [600, 1_500, 3_000];

  async function killed(args: string[], env: NodeJS.ProcessEnv = {}): Promise<void> {
    for (const moment of MOMENTS) {
      const child = here.start(args, { env: { ...here.env, ...env } });
      child.stdout.resume();
      child.stderr.resume();
      const ended = new Promise((resolve) => child.once('close', resolve));
      await sleep(moment);
      child.kill('SIGKILL');
      await ended;
    }
  }

  it('S15: an import ends with each Session there once, and nothing unfinished', async () => {
    const env = { PI_SANDBOX_DOMAINS: 'late', PI_SANDBOX_DEFAULT_DOMAIN: 'late' };
    const args = ['import', '--history', '--yes', '--json'];
    await killed(args, env);
    const { exitCode, stdout } = await here.run(args, { env });
    expect(exitCode).toBe(0);
    const [late] = JSON.parse(stdout).history.domains;
    expect(late.added.count + late.there).toBe(late.count);
    const names = await here.engine.command([
      'run',
      '--rm',
      '-v',
      `${here.prefix}pi-sessions-late:/v`,
      '--entrypoint',
      'find',
      here.image,
      '/v',
      '-name',
      '*',
    ]);
    expect(names.split('\n').filter((name) => name.endsWith('.jsonl')).length).toBe(late.count);
    expect(names).not.toMatch(/arriving|-imported/);
    expect(filesBelow(join(agent, 'sessions'))).toEqual(original);
  });

  it('S15: an export as well', async () => {
    const to = join(here.directory, 'killed');
    const args = ['export', '--domain', 'work', '--to', to, '--yes'];
    await killed(args);
    expect((await here.run(args)).exitCode).toBe(0);
    const expected = [...imported()]
      .filter(([, content]) => cwdOf(content)?.startsWith(work))
      .map(([path]) => path);
    expect([...filesBelow(join(to, 'sessions')).keys()].sort()).toEqual(expected.sort());
    const all = readdirSync(to, { recursive: true }).map(String);
    expect(all.filter((name) => name.includes('.pi-sandbox'))).toEqual([]);
  });
});

/** Those that belong to a domain. */
function imported(): Map<string, Buffer> {
  const belongs = ([, content]: [string, Buffer]): boolean =>
    [work, own].some((directory) => cwdOf(content)?.startsWith(directory));
  return new Map([...original].filter(belongs));
}
