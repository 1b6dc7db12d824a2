import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileOf, inHistory, inPlace, inTrash, type Planted, plant } from '../setup/history-fixture.ts';
import { folderOf } from '../setup/history-generator.ts';
import { type Installation, installation } from '../setup/installation.ts';
import { eventually } from '../setup/look.ts';
import { terminal } from '../setup/terminal.ts';

let here: Installation;
/** Domains `work` and `private` each begin with an empty history in every describe that names a project. */
const DOMAINS = 'DOMAINS=work,private,kept\nDEFAULT_DOMAIN=work\nSESSIONS_KEPT_RETENTION_DAYS=0\n';

beforeAll(async () => {
  here = await installation();
  here.configure('.env', DOMAINS);
});

afterAll(async () => {
  await here.cleanup();
  expect(await here.leftovers()).toEqual([]);
});

let count = 0;

/** A Session of some other project, so that no option of a start names it. */
function old(days: number, more: Partial<Planted> = {}): Planted {
  return { id: `old-${++count}-${days}`, days, cwd: '/work/elsewhere', ...more };
}

/** stderr of a start that runs one command. */
async function start(project: string, options: { domain?: string; env?: NodeJS.ProcessEnv } = {}) {
  const { domain = 'work', env = {} } = options;
  return here.run(['shell', '--domain', domain, project, '--', 'echo', 'ran'], { env });
}

describe('S11: a start removes what expired', () => {
  it('S11: it says so on stderr word for word, the first time with size, oldest and the way back', async () => {
    const project = here.project();
    const fresh = { id: 'fresh', days: 1, cwd: '/work/elsewhere' };
    const expired = [old(31), old(400)];
    await plant(here, project, [fresh, ...expired]);
    await here.run(['stop', project]);
    const first = await start(project);
    expect(first).toMatchObject({ exitCode: 0, stdout: 'ran\n' });
    const [line, ...notice] = first.stderr.trimEnd().split('\n');
    expect(line).toBe('pi-sandbox: removed 2 session(s) older than 30 days');
    const oldest = new Date(Date.now() - 400 * 86_400_000).toISOString().slice(0, 10);
    expect(notice.join('\n')).toContain(oldest);
    expect(notice.join('\n')).toContain('pi-sandbox sessions restore');
    expect(await inPlace(here, project)).toEqual([fileOf(fresh)]);
    expect((await inTrash(here, project)).map((path) => path.split('/').at(-1))).toEqual(
      expired.map((session) => `${fileOf(session).split('/').at(-1)}.trashed`).sort(),
    );
    // Nothing is left to say, and pi's own listing sees nothing of the trash.
    expect(await start(project)).toMatchObject({ exitCode: 0, stderr: '' });
  });

  it('S11: also a start that joins, and the notice is not given again', async () => {
    const project = here.project();
    await plant(here, project, [old(31), old(32), old(33)]);
    expect(await start(project)).toMatchObject({
      exitCode: 0,
      stdout: 'ran\n',
      stderr: 'pi-sandbox: removed 3 session(s) older than 30 days\n',
    });
  });

  it('S11, J14: the number counts conversations of jobs, which go at the same age', async () => {
    const project = here.project();
    // There is no model, so it fails at once.
    const job = await here.run(['jobs', project, 'run', '--name', 'done', 'say hello']);
    expect(job.exitCode).not.toBe(0);
    await plant(here, project, [old(31)]);
    const age =
      'for each in $XDG_STATE_HOME/pi-multi-agent/*/jobs/done/*_at; do echo 2026-01-02T03:04:05Z >$each; done';
    expect(await here.run(['exec', project, '--', 'sh', '-c', age])).toMatchObject({ exitCode: 0 });
    await here.run(['stop', project]);
    expect(await start(project)).toMatchObject({
      exitCode: 0,
      stderr: 'pi-sandbox: removed 2 session(s) older than 30 days\n',
    });
    expect((await here.run(['jobs', project, 'list'])).stdout).not.toContain('done');
  });

  it('S11: a -p run gets the line on stderr only', async () => {
    const project = here.project();
    await plant(here, project, [old(31)]);
    const result = await here.run(['start', '--demo', project, '--', '-p', 'run echo answered']);
    expect(result).toMatchObject({
      exitCode: 0,
      stderr: 'pi-sandbox: removed 1 session(s) older than 30 days\n',
    });
    expect(result.stdout).toContain('answered');
    expect(result.stdout).not.toContain('removed');
  });

  it('S11: neither a copied nor a restored one dies early', async () => {
    const project = here.project();
    const copied = old(400, { fileDays: 2 });
    const restored = old(2, { fileDays: 400 });
    await plant(here, project, [copied, restored]);
    expect(await start(project)).toMatchObject({ stderr: '' });
    expect(await inPlace(here, project)).toEqual(expect.arrayContaining([fileOf(copied), fileOf(restored)]));
  });

  it('S11: each domain has its own age, and 0 keeps everything', async () => {
    const project = here.project();
    const ancient = old(4_000);
    const inDomain = (domain: string) => ({ env: { PI_SANDBOX_DEFAULT_DOMAIN: domain } });
    await plant(here, project, [ancient], inDomain('kept'));
    expect(await start(project, { domain: 'kept' })).toMatchObject({ exitCode: 0, stderr: '' });
    await plant(here, project, [old(8)], inDomain('private'));
    expect(await start(project, { domain: 'private' })).toMatchObject({ stderr: '' });
    const own = await start(project, {
      domain: 'private',
      env: { PI_SANDBOX_SESSIONS_PRIVATE_RETENTION_DAYS: '7' },
    });
    expect(own.stderr).toContain('pi-sandbox: removed 1 session(s) older than 7 days\n');
    expect(await inHistory(here, project, `ls ./${fileOf(ancient)}`, inDomain('kept'))).toContain(ancient.id);
  });

  it.each(['-1', '1.5', 'a month', '1e3'])(
    'S11: %s days are an error, and nothing is pruned',
    async (value) => {
      const project = here.project();
      const expired = old(31);
      await plant(here, project, [expired]);
      const result = await start(project, { env: { PI_SANDBOX_SESSIONS_RETENTION_DAYS: value } });
      expect(result).toMatchObject({ exitCode: 2, stdout: '' });
      expect(result.stderr).toContain('SESSIONS_RETENTION_DAYS');
      const kept = { env: { PI_SANDBOX_SESSIONS_RETENTION_DAYS: '0' } };
      expect(await inHistory(here, project, `ls ./${fileOf(expired)}`, kept)).toContain(expired.id);
      await start(project);
    },
  );
});

describe('S11: what a start names is never affected', () => {
  const answer = async (project: string, args: string[]) => {
    const result = await here.run(['start', '--demo', project, '--', '-p', 'run true', ...args]);
    return { exitCode: result.exitCode, removed: /removed (\d+)/.exec(result.stderr)?.[1] };
  };

  it('S11: --session with an id, its beginning, or a file; --fork; --session-id; -c', async () => {
    const project = here.project();
    const mine = (id: string, days: number): Planted => ({ id, days, cwd: project });
    const cases: { named: Planted; args: (session: Planted) => string[] }[] = [
      { named: mine('by-id', 50), args: ({ id }) => ['--session', id] },
      { named: mine('by-beginning', 51), args: () => ['--session', 'by-beg'] },
      {
        named: mine('by-file', 52),
        args: (session) => ['--session', `/home/pi/.pi/agent/sessions/${fileOf(session)}`],
      },
      { named: mine('exact', 53), args: ({ id }) => ['--session-id', id] },
      { named: mine('forked', 54), args: ({ id }) => ['--fork', id] },
      { named: mine('newest', 40), args: () => ['-c'] },
    ];
    for (const { named, args } of cases) {
      const other = mine(`other-than-${named.id}`, 90);
      await plant(here, project, [named, other]);
      expect(await answer(project, args(named)), named.id).toEqual({ exitCode: 0, removed: '1' });
      const left = await inHistory(here, project, `ls ./*; rm -f ./${folderOf(project)}/*`, {
        env: { PI_SANDBOX_SESSIONS_RETENTION_DAYS: '0' },
      });
      expect(left, named.id).toContain(`_${named.id}.jsonl`);
      expect(left, named.id).not.toContain(other.id);
    }
  });

  it('S11: one that a start of another project has taken is back, and pi goes on with it', async () => {
    const [project, other] = [here.project(), here.project()];
    const taken: Planted = { id: 'taken-away', days: 60, cwd: project, text: 'words of long ago' };
    await plant(here, project, [taken]);
    expect((await start(other)).stderr).toContain('removed 1 session(s)');
    const result = await here.run([
      'start',
      '--demo',
      project,
      '--',
      '-p',
      'run true',
      '--session',
      taken.id,
    ]);
    expect(result).toMatchObject({ exitCode: 0 });
    expect(result.stderr).toContain('the Session taken-away was in the trash and is back, since this start');
    const text = await here.run(['sessions', 'export', taken.id, '--domain', 'work']);
    expect(text.stdout).toContain('words of long ago');
    expect(text.stdout).toContain('run true');
    expect((await here.run(['sessions', 'log', 'work'])).stdout).toMatch(
      /restored.*taken-away|taken-away.*restored/,
    );
  });

  it('S11: starts of two projects at the same moment: what one names is there for its pi, each time', async () => {
    const [project, other] = [here.project(), here.project()];
    for (let time = 1; time <= 4; time++) {
      const named: Planted = { id: `raced-${time}`, days: 60, cwd: project };
      await plant(here, project, [named]);
      const [own] = await Promise.all([
        here.run(['start', '--demo', project, '--', '-p', 'run true', '--session', named.id]),
        start(other),
      ]);
      expect(own, named.id).toMatchObject({ exitCode: 0 });
    }
  });
});

describe('S11: a Session that the user is about to choose', () => {
  it('S11: with -r those of the project are still there to be chosen, however old', async () => {
    const project = here.project();
    const text = 'the question of long ago';
    await plant(here, project, [{ id: 'choose-me', days: 60, cwd: project, text }, old(60)]);
    const screen = terminal(process.execPath, [here.cli, 'start', '--demo', project, '--', '-r'], {
      env: { ...here.env, TERM: 'xterm-256color' },
      cwd: here.directory,
      columns: 120,
    });
    await screen.wrote('removed 1 session(s) older than 30 days');
    await screen.shows(text);
    screen.type('\r');
    await screen.shows('demo');
    screen.kill();
  });
});

describe('S11: a prune that fails keeps nobody from pi', () => {
  it('S11: another prune that holds the lock is said, and pi starts', async () => {
    const project = here.project();
    const expired = old(31);
    await start(project);
    const hold = `const {tryLock}=require('/opt/pi-sandbox/node_modules/fs-native-extensions');
      const fd=require('fs').openSync('/home/pi/.pi/agent/sessions/.history/lock','r+');
      console.log(tryLock(fd)); setInterval(()=>{},1e6)`;
    const holder = here.start(['shell', project, '--', 'node', '-e', hold]);
    const [held] = await once(holder.stdout, 'data');
    expect(String(held)).toContain('true');
    try {
      // Neither this start nor the next can prune.
      await plant(here, project, [expired]);
      const result = await start(project);
      expect(result).toMatchObject({ exitCode: 0, stdout: 'ran\n' });
      expect(result.stderr).toContain('warning: old Sessions were not all pruned');
    } finally {
      holder.kill('SIGTERM');
      await once(holder, 'close');
    }
    await eventually('the lock to be free', async () => (await start(project)).stderr.includes('removed 1'));
  });

  it('S11: on a full disk what cannot be moved stays, which is said, and pi starts', async () => {
    const volume = `${here.prefix}pi-sessions-full`;
    const { uid, gid } = here.owner;
    await here.engine.command([
      ...['volume', 'create', '--opt', 'type=tmpfs', '--opt', 'device=tmpfs'],
      ...['--opt', `o=size=200k,mode=700,uid=${uid},gid=${gid}`, volume],
    ]);
    const options = { env: { PI_SANDBOX_DOMAINS: 'full', PI_SANDBOX_DEFAULT_DOMAIN: 'full' } };
    const project = here.project();
    const expired = [old(31), old(32)];
    await plant(here, project, expired, options);
    // No byte is left for the log of deletions, and what cannot be logged does not go.
    const fill = `rm -rf .history .trash; dd if=/dev/zero of=fill bs=1k 2>/dev/null || true`;
    await inHistory(here, project, fill, {
      env: { ...options.env, PI_SANDBOX_SESSIONS_RETENTION_DAYS: '0' },
    });
    const result = await start(project, { domain: 'full', env: options.env });
    expect(result).toMatchObject({ exitCode: 0, stdout: 'ran\n' });
    expect(result.stderr).toMatch(/warning: .*(no space left|full)/i);
    const left = await inHistory(here, project, 'rm fill; find . -name "*old-*"', {
      env: { ...options.env, PI_SANDBOX_SESSIONS_RETENTION_DAYS: '0' },
    });
    for (const { id } of expired) expect(left).toContain(id);
    const again = await start(project, { domain: 'full', env: options.env });
    expect(again.stderr).toContain('removed 2 session(s)');
  });

  it('S11: what cannot be read stays, and what is no Session, and neither keeps the others', async () => {
    const project = here.project();
    const [unreadable, expired] = [old(60), old(61)];
    await plant(here, project, [unreadable, expired]);
    await inHistory(
      here,
      project,
      `chmod 000 ./${fileOf(unreadable)}; touch -d '90 days ago' notes.txt; ln -s /etc linked.jsonl; mkdir -p a/b`,
      { env: { PI_SANDBOX_SESSIONS_RETENTION_DAYS: '0' } },
    );
    const pruned = await start(project);
    expect(pruned).toMatchObject({ exitCode: 0, stdout: 'ran\n' });
    expect(pruned.stderr).toMatch(/^pi-sandbox: removed 1 session\(s\) older than 30 days\n/);
    expect(pruned.stderr).toContain(`warning: the history's ${fileOf(unreadable)} could not be read`);
    const left = await inHistory(
      here,
      project,
      `ls ./${fileOf(unreadable)} notes.txt linked.jsonl /etc/passwd`,
    );
    expect(left).toContain(unreadable.id);
    await inHistory(here, project, `rm -f ./${fileOf(unreadable)} notes.txt linked.jsonl`);
  });
});

describe('S11: a Session that is open', () => {
  it('S11: untouched for longer it goes to the trash, and comes back before pi appends to it', async () => {
    const [project, other] = [here.project(), here.project()];
    const pi = here.start(['start', '--demo', project, '--', '--mode', 'rpc']);
    const lines = createInterface({ input: pi.stdout })[Symbol.asyncIterator]();
    const until = async (matches: (line: Record<string, unknown>) => boolean) => {
      for (;;) {
        const next = await lines.next();
        if (next.done === true) throw new Error('pi ended');
        const line: Record<string, unknown> = JSON.parse(next.value);
        if (matches(line)) return line;
      }
    };
    const ask = async (message: string) => {
      pi.stdin.write(`${JSON.stringify({ id: message, type: 'prompt', message })}\n`);
      await until(({ type }) => type === 'agent_settled');
    };
    await ask('run echo before');
    const folder = `./${folderOf(project)}`;
    const name = (await inHistory(here, project, `ls ${folder}`)).trim();
    // As if all of it had been written long ago.
    const year = String(new Date().getUTCFullYear() - 1);
    const age = `sed -i 's/"timestamp":"20[0-9][0-9]/"timestamp":"${year}/g' ${folder}/${name}; touch -d '400 days ago' ${folder}/${name}`;
    await inHistory(here, project, `${age}; cp ${folder}/${name} /tmp/before`);
    const pruned = await start(other);
    expect(pruned.stderr).toContain('removed 1 session(s)');
    expect((await inTrash(here, other)).some((path) => path.endsWith(`${name}.trashed`))).toBe(true);
    await ask('run echo after');
    const after = await inHistory(here, project, `cat ${folder}/${name}`);
    const before = await here.run(['shell', project, '--', 'cat', '/tmp/before']);
    expect(after.startsWith(before.stdout)).toBe(true);
    expect(after).toContain('echo after');
    expect((await inTrash(here, other)).some((path) => path.endsWith(`${name}.trashed`))).toBe(false);
    // And the log does not go on saying that it is in the trash.
    const logged = await here.run(['sessions', 'log', '--json']);
    const { deletions } = JSON.parse(logged.stdout);
    const own = deletions.filter(({ file }: { file: string }) => file.includes(name));
    expect(own.map(({ action, why }: { action: string; why: string }) => `${action}: ${why}`)).toEqual([
      'trashed: retention',
      'restored: used',
    ]);
    pi.stdin.end();
  });
});

describe("S11: a hostile repository's sessionDir", () => {
  it('S11: -p, -c and --session by id keep the history where it is', async () => {
    const project = here.project();
    mkdirSync(join(project, '.pi'));
    const evil = join(project, 'evil');
    writeFileSync(join(project, '.pi/settings.json'), JSON.stringify({ sessionDir: evil }));
    const folder = folderOf(project);
    const run = (...args: string[]) =>
      here.run(['start', '--demo', project, '--', '-p', 'run true', ...args]);
    /** Files with how often something was asked in each. */
    const asked = async () =>
      (await inHistory(here, project, `cd ./${folder}; grep -Hc '"role":"user"' *.jsonl`)).trim().split('\n');
    expect(await run()).toMatchObject({ exitCode: 0 });
    const [first = ''] = await asked();
    const id = /_([^_]+)\.jsonl/.exec(first)?.[1] ?? '';
    expect(await run('-c')).toMatchObject({ exitCode: 0 });
    expect(await run('--session', id)).toMatchObject({ exitCode: 0 });
    expect(await asked()).toEqual([first.replace(/:1$/, ':3')]);
    expect(existsSync(evil)).toBe(false);
  });

  it('S11: another project’s Session is found by its id, and continued in its own directory', async () => {
    const [project, other] = [here.project(), here.project()];
    await here.run(['start', '--demo', project, '--', '-p', 'run true', '--session-id', 'across']);
    const result = await here.run(['start', '--demo', other, '--', '-p', 'run pwd', '--session', 'across']);
    // Its directory is not mounted in this sandbox, which pi says; the Session stays where and as it is.
    expect(result.stderr).toContain(project);
    expect(await inHistory(here, other, `ls ./${folderOf(project)}`)).toContain('_across.jsonl');
  });
});

describe('S13: what the seed shows in a shell works', () => {
  it('S13: ls -lt, rm of a Session, rm of the trust decisions', async () => {
    const project = here.project();
    const file = fileOf({ id: 'to-go', days: 1, cwd: project });
    await plant(here, project, [{ id: 'to-go', days: 1, cwd: project }]);
    const shell = (command: string) => here.run(['shell', project, '--', 'bash', '-c', command]);
    expect((await shell('ls -lt ~/.pi/agent/sessions/')).stdout).toContain(folderOf(project));
    expect(await shell(`rm ~/.pi/agent/sessions/${file}`)).toMatchObject({ exitCode: 0, stderr: '' });
    expect((await shell('ls -R ~/.pi/agent/sessions/')).stdout).not.toContain('to-go');
    await shell(`echo '{"${project}":true}' > ~/.pi/agent/trust.json; sleep 1`);
    expect(await shell('rm ~/.pi/agent/trust.json')).toMatchObject({ exitCode: 0 });
    await eventually('the trust decisions to be gone', async () => {
      const { stdout } = await shell('cat ~/.pi/agent/trust.json /home/pi/.pi/agent/trust.json 2>/dev/null');
      return !stdout.includes(project);
    });
  });
});
