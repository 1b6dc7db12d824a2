import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { put, temporaryDirectory } from '../../setup/package-fixture.ts';
import { piCli } from '../../setup/pi.ts';

const LAUNCHER = join(import.meta.dirname, '../../../docker/bin/pi');
/** How many words the launcher's own extensions take. */
const OWN = 8;
const CLI = 'node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js';

/** The launcher with its fixed paths moved below a temporary directory, and a "node" that prints what it was given. */
function installed() {
  const root = realpathSync(temporaryDirectory());
  const sessions = join(root, 'sessions');
  const script = readFileSync(LAUNCHER, 'utf8')
    .replace('root=/opt/pi-sandbox\n', `root=${root}\n`)
    .replace('node=/usr/local/bin/node\n', `node=${root}/node\n`)
    .replace('sessions=/home/pi/.pi/agent/sessions\n', `sessions=${sessions}\n`)
    .replace('shared=/run/pi-agent-state\n', `shared=${root}/shared\n`);
  put(root, 'pi', script, 0o755);
  put(
    root,
    'node',
    `#!/bin/sh\nprintf 'turn=%s\\0' "\${PI_SANDBOX_TURN_FD:-}"\nprintf 'name=%s\\0' "\${PI_SANDBOX_SESSION_NAME-none}"\nprintf 'agent=%s\\0' "$PI_CODING_AGENT_DIR"\nprintf 'work=%s\\0' "\${PI_WORK_ROOT-none}"\nprintf '%s\\0' "$@"\n`,
    0o755,
  );
  mkdirSync(join(root, 'run/pi-sandbox'), { recursive: true });
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: root,
    PI_CODING_AGENT_DIR: '/agent',
    XDG_RUNTIME_DIR: join(root, 'run'),
  };
  return { root, sessions, env };
}

function launch(
  { root, env }: ReturnType<typeof installed>,
  args: string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
) {
  const cwd = options.cwd ?? join(root, 'project');
  mkdirSync(cwd, { recursive: true });
  const run = spawnSync(join(root, 'pi'), args, { cwd, env: { ...env, ...options.env }, encoding: 'utf8' });
  const [turn = '', name = '', agent = '', work = '', option, guard, cli, ...given] = run.stdout
    .split('\0')
    .slice(0, -1);
  return {
    turn: turn.replace('turn=', ''),
    name: name.replace('name=', ''),
    agent: agent.replace('agent=', ''),
    work: work.replace('work=', ''),
    guard: [option, guard],
    cli,
    given,
    stderr: run.stderr,
    status: run.status,
  };
}

const encoded = (cwd: string) => `--${cwd.replace(/^[/\\]/, '').replace(/[/\\:]/g, '-')}--`;

describe('the pi launcher', () => {
  let place: ReturnType<typeof installed>;
  beforeEach(() => {
    place = installed();
  });

  it('W1: hands another agent directory to pi by the name that pi reads, and says where work lies then', () => {
    const { root } = place;
    const own = { PI_ADAPTATIVE_CODING_AGENT_DIR: join(root, 'own'), PI_CODING_AGENT_DIR: '/pis' };
    mkdirSync(join(root, 'own'));
    symlinkSync(join(root, 'elsewhere'), join(root, 'own/work'));
    expect(launch(place, ['x'], { env: own })).toMatchObject({
      agent: join(root, 'own'),
      work: join(root, 'elsewhere'),
    });
  });

  it.each([
    ['~/else', 'else'],
    ['~', ''],
    ['below', 'project/below'],
  ])('W1: %s is made absolute', (word, path) => {
    const found = launch(place, ['auth', 'check'], { env: { PI_ADAPTATIVE_CODING_AGENT_DIR: word } });
    expect(found.agent).toBe(join(place.root, path));
    expect(found.work).toBe(join(place.root, path, 'work'));
  });

  it("W1: leaves the sandbox's own agent directory and work root as the container has them", () => {
    const env = { PI_CODING_AGENT_DIR: '/run/pi-session/agent', PI_WORK_ROOT: '/domain/work' };
    expect(launch(place, ['--version'], { env })).toMatchObject({
      agent: '/run/pi-session/agent',
      work: '/domain/work',
    });
  });

  it('S8: a settings lock that a killed pi left behind is cleared away, a fresh one is waited for', async () => {
    const agent = join(place.root, 'agent');
    const lock = join(agent, 'settings.json.lock');
    mkdirSync(lock, { recursive: true });
    const stale = launch(place, ['hello'], { env: { PI_CODING_AGENT_DIR: agent } });
    expect(stale.status).toBe(0);
    expect(existsSync(lock)).toBe(false);
  });

  it('S8: a login lock of another sandbox is waited for and never removed', () => {
    const lock = join(place.root, 'shared/.pi/agent/auth.json.lock');
    mkdirSync(lock, { recursive: true });
    const holder = spawn('sh', ['-c', 'sleep 0.4; rmdir "$1"', 'holder', lock]);
    onTestFinished(() => void holder.kill());
    expect(launch(place, ['hello']).status).toBe(0);
    expect(existsSync(lock)).toBe(false);
  });

  it('H3: hands a name to the lock extension instead of to pi, which would write it without the lock', () => {
    for (const flag of ['-n', '--name']) {
      const { name, given } = launch(place, ['-p', flag, 'two words', '--', '-n', 'text']);
      expect(name).toBe('two words');
      expect(given.slice(-4)).toEqual(['-p', '--', '-n', 'text']);
      expect(given).not.toContain('two words');
    }
    expect(launch(place, ['-p', 'hello']).name).toBe('none');
  });

  it('S21: knows every option of pi that takes a value', () => {
    const help = spawnSync(process.execPath, [piCli(), '--help'], { encoding: 'utf8' });
    const withValue = [...help.stdout.matchAll(/^\s+(--?[a-z][a-z-]*)(?:, (--?[a-z][a-z-]*))? </gm)].flatMap(
      (match) => [match[1], match[2]].filter((option) => option !== undefined),
    );
    expect(withValue.length).toBeGreaterThan(10);
    const script = readFileSync(LAUNCHER, 'utf8');
    const patterns = new Set(
      [...script.matchAll(/^ {4}([^)\n]+(?:\\\n[^)\n]+)*)\) (?:[a-z]+=[a-z0-9]* )*expect=/gm)].flatMap(
        (match) => (match[1] ?? '').split(/[\s|\\]+/),
      ),
    );
    expect(withValue.filter((option) => !patterns.has(option))).toEqual([]);
  });

  it('S5: loads the login guard before pi itself, for subcommands too', () => {
    for (const args of [['hello'], ['auth', 'check'], ['--version']]) {
      const { guard } = launch(place, args);
      expect(guard).toEqual(['--require', join(place.root, 'login-guard.cjs')]);
    }
  });

  it('S21, W11, J12: always loads the lock extension, the memory and the agents, before whatever the user gives', () => {
    const { cli, given, stderr } = launch(place, ['-e', 'mine.ts', 'hello']);
    expect(cli).toBe(join(place.root, CLI));
    const extensions = ['session-lock', 'memory', 'multi-agent'];
    expect(given.slice(0, OWN)).toEqual([
      ...extensions.flatMap((name) => ['-e', join(place.root, `extensions/${name}.mjs`)]),
      '--skill',
      join(place.root, 'skills/multi-agent'),
    ]);
    expect(given.slice(-3)).toEqual(['-e', 'mine.ts', 'hello']);
    expect(stderr).toBe('');
  });

  it('passes every argument on as it is', () => {
    const odd = ['', ' a  b ', '$(id) `id` "q" \'q\'', '*', 'line\nbreak', '\\', 'ünï', '--', '-n', '@file'];
    expect(launch(place, odd).given.slice(-odd.length)).toEqual(odd);
  });

  it.each(['project', 'q r:s', 'back\\slash:', 'deep/er/é', 'end-'])(
    'S11: gives pi the session directory that pi itself would choose in %j',
    (name) => {
      const cwd = join(place.root, name);
      const { given } = launch(place, ['-p', 'x'], { cwd });
      expect(given.slice(OWN, OWN + 2)).toEqual(['--session-dir', `/agent/sessions/${encoded(cwd)}`]);
    },
  );

  it.each([
    ['--session-dir', '/mine'],
    ['--no-session', '-p'],
  ])("S11: leaves the user's own %s", (...args) => {
    expect(launch(place, args).given.slice(OWN)).toEqual(args);
  });

  it('S11: an option that is only the value of another is no option', () => {
    const { given } = launch(place, ['--system-prompt', '--no-session', '--name', '--help']);
    expect(given).toContain('--session-dir');
    expect(given).toContain(join(place.root, 'extensions/session-lock.mjs'));
    expect(launch(place, ['--', '--help']).given).toContain('--session-dir');
  });

  it.each(['install', 'remove', 'uninstall', 'update', 'list', 'config', 'auth', 'mcp'])(
    "leaves pi's subcommand %s alone",
    (command) => {
      expect(launch(place, [command, 'x'])).toMatchObject({ given: [command, 'x'], turn: '' });
    },
  );

  it.each([['--version'], ['-h'], ['--export', 'a.jsonl'], ['--list-models']])(
    'starts no Session for %s',
    (...args) => {
      expect(launch(place, args)).toMatchObject({ given: args, turn: '' });
    },
  );

  it('S11: -c in a folder that two directories share gets the name with which pi checks the directory', () => {
    const own = installed();
    const cwd = join(own.root, 'a-b');
    const folder = join(own.sessions, encoded(cwd));
    put(folder, 'one.jsonl', `{"type":"session","cwd":"${cwd}"}\n{"more":1}\n`);
    expect(launch(own, ['-c'], { cwd }).given[OWN + 1]).toBe(`/agent/sessions/${encoded(cwd)}`);
    put(folder, 'two.jsonl', `{"type":"session","cwd":"${own.root}/a/b"}\n`);
    expect(launch(own, ['-c'], { cwd }).given[OWN + 1]).toBe(folder);
    expect(launch(own, ['-p', 'x'], { cwd }).given[OWN + 1]).toBe(`/agent/sessions/${encoded(cwd)}`);
  });

  it.each(['--session', '--fork'])("S11: %s finds another project's Session by id", (flag) => {
    const own = installed();
    const file = join(own.sessions, '--elsewhere--/2026-11-30T00-00-00-000Z_abc-123.jsonl');
    put(own.sessions, '--elsewhere--/2026-11-30T00-00-00-000Z_abc-123.jsonl', '{}\n');
    expect(launch(own, [flag, 'abc', '-p', 'abc']).given.slice(-4)).toEqual([flag, file, '-p', 'abc']);
    expect(launch(own, [flag, 'none']).given.slice(-2)).toEqual([flag, 'none']);
    expect(launch(own, [flag, './abc']).given.slice(-2)).toEqual([flag, './abc']);
    put(own.sessions, '--third--/2026-11-30T00-00-00-000Z_abd.jsonl', '{}\n');
    expect(launch(own, [flag, 'ab']).given.slice(-2)).toEqual([flag, 'ab']);
  });

  it('S23: the demo model comes in by the environment, and an own --model stays', () => {
    const env = { PI_SANDBOX_DEMO: '1' };
    const demo = join(place.root, 'extensions/demo-model.mjs');
    const { given } = launch(place, ['-p', 'x'], { env });
    expect(given.slice(OWN, OWN + 4)).toEqual(['-e', demo, '--model', 'demo/demo-1']);
    expect(launch(place, ['--model', 'a/b'], { env }).given).not.toContain('demo/demo-1');
    expect(launch(place, ['--list-models'], { env }).given).toEqual(['-e', demo, '--list-models']);
  });

  it('works where there is no directory for the turn', () => {
    const { given, turn, status } = launch(place, ['x'], { env: { XDG_RUNTIME_DIR: '/nonexistent' } });
    expect({ last: given.at(-1), turn, status }).toEqual({ last: 'x', turn: '', status: 0 });
  });

  it("ends with pi's own exit code, and with the signal that ended pi", async () => {
    const own = installed();
    put(own.root, 'node', '#!/bin/sh\nexit 7\n', 0o755);
    expect(launch(own, []).status).toBe(7);
    put(own.root, 'node', '#!/bin/sh\nexec sleep 30\n', 0o755);
    const child = spawn(join(own.root, 'pi'), ['x'], { env: own.env, stdio: 'ignore' });
    await new Promise((resolve) => setTimeout(resolve, 200));
    child.kill('SIGTERM');
    expect(await ending(child)).toEqual([null, 'SIGTERM']);
  });

  it('S8: a start waits for the one before it, until that closes the descriptor it was given', async () => {
    const own = installed();
    // The first "pi" closes its turn after a moment, as the extension does, and runs on.
    put(
      own.root,
      'node',
      '#!/bin/sh\n: >"$0.started"\n[ "$PI_SANDBOX_TURN_FD" = 9 ] || exit 3\nsleep 0.4\nexec 9>&-\necho read\nsleep 5\n',
      0o755,
    );
    const first = spawn(join(own.root, 'pi'), [], { env: own.env, stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void first.kill());
    const order: string[] = [];
    const readByFirst = new Promise<void>((resolve) =>
      first.stdout.once('data', () => {
        order.push('first has read');
        resolve();
      }),
    );
    await vi.waitFor(() => expect(existsSync(join(own.root, 'node.started'))).toBe(true), 10_000);
    put(own.root, 'node', '#!/bin/sh\nexit 0\n', 0o755);
    const second = spawn(join(own.root, 'pi'), [], { env: own.env, stdio: 'ignore' });
    const secondEnds = ending(second).then(() => order.push('second starts'));
    await Promise.all([readByFirst, secondEnds]);
    expect(order).toEqual(['first has read', 'second starts']);
    expect(first.exitCode).toBeNull();
  });
});

function ending(child: ChildProcess): Promise<[number | null, string | null]> {
  return new Promise((resolve) => child.once('exit', (code, signal) => resolve([code, signal])));
}
