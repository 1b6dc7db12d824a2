/** History from before domains had their own, in the shared volume of an installation that is older than they are. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ENGINES, readyEngine } from '../setup/engines.ts';
import { type Installation, installation } from '../setup/installation.ts';
import { terminal } from '../setup/terminal.ts';

const id = (number: number): string => `aaaa0001-0000-4000-8000-${String(number).padStart(12, '0')}`;

/** What Podman would ask of this host by itself may be more than it grants. */
const LIMITS = { docker: [], podman: ['--ulimit=nofile=1024:1024', '--ulimit=nproc=1024:1024'] } as const;

describe.each(ENGINES)('S12: old history on %s', (kind) => {
  let here: Installation;
  let work: string;
  let own: string;

  beforeAll(async () => {
    here = await installation(await readyEngine(kind, inject('e2e')));
    [work, own] = [here.project(), here.project()];
    here.configure(
      '.env',
      `DOMAINS=work,private\nDOMAIN_WORK_PATHS=${work}\nDOMAIN_PRIVATE_PATHS=${own}\nLEGACY_PATHS=/workspace/acme=work\n`,
    );
    await fill([
      [1, work],
      [2, work],
      [3, '/workspace/acme/x'],
      [4, own],
      [5, '/nowhere'],
    ]);
  });

  afterAll(async () => {
    await here.cleanup();
    expect(await here.leftovers()).toEqual([]);
  });

  /** Writes Sessions into the shared volume as they lay there, with the engine's own command. */
  async function fill(sessions: [number: number, cwd: string][]): Promise<void> {
    const commands = sessions.map(([number, cwd]) => {
      const header = {
        type: 'session',
        version: 3,
        id: id(number),
        timestamp: '2026-11-30T19:10:58.599Z',
        cwd,
      };
      const message = {
        role: 'user',
        content: [{ type: 'text', text: `old words ${number}` }],
        timestamp: 1,
      };
      const entry = {
        type: 'message',
        id: 'a1',
        parentId: null,
        timestamp: '2026-11-30T19:11:00.000Z',
        message,
      };
      const folder = `--${cwd.slice(1).replaceAll('/', '-')}--`;
      const path = `/v/.pi/agent/sessions/${folder}`;
      const text = `${JSON.stringify(header)}\n${JSON.stringify(entry)}`;
      return `mkdir -p ${path}; cat >${path}/2026-11-30T19-10-58-599Z_${id(number)}.jsonl <<'END'\n${text}\nEND`;
    });
    const { uid, gid } = here.owner;
    const script = `${commands.join('\n')}\nchown -R ${uid}:${gid} /v`;
    const volume = `${here.prefix}pi-agent-state`;
    await here.engine.command(['volume', 'create', volume]);
    await here.engine.command(
      [
        'run',
        '--rm',
        '-i',
        ...LIMITS[kind],
        '--user=0:0',
        '--entrypoint=/bin/sh',
        '-v',
        `${volume}:/v`,
        here.image,
        '-s',
      ],
      { input: script },
    );
  }

  const listed = async (): Promise<Record<string, string[]>> => {
    const { domains } = JSON.parse((await here.run(['sessions', 'list', '--sessions', '--json'])).stdout);
    return Object.fromEntries(
      domains.map((each: { domain: string; sessions: { id: string }[] }) => [
        each.domain,
        each.sessions.map((session) => session.id).sort(),
      ]),
    );
  };

  it('S12: the first starts of two domains at once take their own, and say what is nobody’s', async () => {
    const results = await Promise.all([
      here.run(['shell', work, '--', 'true']),
      here.run(['shell', own, '--', 'true']),
      here.run(['shell', work, '--', 'true']),
    ]);
    for (const { exitCode } of results) expect(exitCode).toBe(0);
    const said = results.map(({ stderr }) => stderr).join('');
    expect(said).toMatch(/moved 3 Sessions \(.*\) from before domains had their own into domain work/);
    expect(said).toMatch(/moved 1 Session \(.*\) from before domains had their own into domain private/);
    expect(said).toMatch(
      /1 Session \(.*\) from before domains had their own belongs to no configured domain/,
    );
    expect(said).toContain('pi-sandbox sessions clear --legacy');
    expect(await listed()).toEqual({ work: [id(1), id(2), id(3)], private: [id(4)] });
  });

  it('S13: the listing has a row for what is nobody’s, and one for what a start will take over', async () => {
    const { stdout } = await here.run(['sessions', 'list']);
    expect(stdout).toMatch(/^none \(old history\) +1 +\d+ B /m);
    expect(stdout).not.toMatch(/(work|private) \(old history\)/);
    const env = { PI_SANDBOX_LEGACY_PATHS: '/nowhere=private' };
    expect((await here.run(['sessions', 'list'], { env })).stdout).toMatch(/^private \(old history\) +1 /m);
    const { oldHistory } = JSON.parse((await here.run(['sessions', 'list', '--json'])).stdout);
    expect(oldHistory).toMatchObject({
      unowned: { count: 1, oldest: expect.any(String) },
      damaged: { count: 0 },
      waiting: {},
    });
  });

  it('S12, rule 4: no sandbox reaches what is left, and none sees another domain’s', async () => {
    const script =
      'ls -R /run/pi-agent-state/.pi; cat /run/pi-agent-state/.pi/agent/sessions/*/*; grep -rl "old words" /home/pi /run 2>/dev/null';
    const { stdout, stderr } = await here.run(['exec', own, '--', 'sh', '-c', script]);
    expect(stderr).toContain('Permission denied');
    expect(stdout).not.toContain('old words');
    const found = stdout.split('\n').filter((line) => line.endsWith('.jsonl') && line.startsWith('/'));
    expect(found.every((line) => line.includes(id(4)))).toBe(true);
    expect(found.length).toBeGreaterThan(0);
  });

  it('S12: a later start has nothing to sort and says nothing', async () => {
    await here.run(['stop', '--all']);
    expect(await here.run(['shell', work, '--', 'true'])).toMatchObject({ exitCode: 0, stderr: '' });
  });

  it('S12: real pi continues an old Session, where it was', async () => {
    const result = await here.run(['start', '--demo', own, '--', '-c', '-p', 'hello']);
    expect(result).toMatchObject({ exitCode: 0 });
    const text = await here.run(['sessions', 'export', id(4)]);
    expect(text.stdout).toContain('old words 4');
    expect(text.stdout).toContain('demo model');
    expect((await listed()).private).toEqual([id(4)]);
  });

  it('S12: what the configuration gives to a domain later comes with its next start', async () => {
    await here.run(['stop', '--all']);
    const env = { PI_SANDBOX_LEGACY_PATHS: '/workspace/acme=work,/nowhere=private' };
    const result = await here.run(['shell', own, '--', 'true'], { env });
    expect(result.stderr).toMatch(
      /moved 1 Session \(.*\) from before domains had their own into domain private/,
    );
    expect((await listed()).private).toEqual([id(4), id(5)]);
  });

  it('S12, S14: starts of one project that find history to sort all come up, and it is sorted once', async () => {
    await here.run(['stop', '--all']);
    const header = {
      type: 'session',
      version: 3,
      id: id(6),
      timestamp: '2026-11-30T19:10:58.599Z',
      cwd: own,
    };
    // As where a sandbox and its history are older than the migration.
    await here.engine.command([
      ...['run', '--rm', ...LIMITS[kind], '--user=0:0', '--entrypoint=/bin/sh'],
      ...['-v', `${here.prefix}pi-agent-state:/v`, '-v', `${here.prefix}pi-sessions-private:/s`],
      ...[here.image, '-c'],
      `cd /v/.pi/agent/sessions; mkdir late; echo '${JSON.stringify(header)}' >late/l.jsonl; rm /s/.pi-sandbox-legacy.json`,
    ]);
    const results = await Promise.all(
      Array.from({ length: 4 }, () => here.run(['shell', own, '--', 'true'])),
    );
    for (const result of results) expect(result).toMatchObject({ exitCode: 0 });
    expect(results.filter(({ stderr }) => stderr.includes('moved 1 Session'))).toHaveLength(1);
    expect((await listed()).private).toEqual([id(4), id(5), id(6)]);
  });

  it('S13: clear --legacy lists, asks, and deletes what belongs to none', async () => {
    await here.engine.command([
      'run',
      '--rm',
      ...LIMITS[kind],
      '--user=0:0',
      '--entrypoint=/bin/sh',
      '-v',
      `${here.prefix}pi-agent-state:/v`,
      here.image,
      '-c',
      'mkdir -p /v/.pi/agent/sessions/x; echo broken >/v/.pi/agent/sessions/x/y.jsonl',
    ]);
    expect(await here.run(['sessions', 'clear', '--legacy'])).toMatchObject({ exitCode: 2, stdout: '' });
    const window = terminal(process.execPath, [here.cli, 'sessions', 'clear', '--legacy'], {
      env: here.env,
      cwd: own,
    });
    await window.shows(/1 Session of no configured domain[\s\S]*Delete them for good\? \[y\/N\]/);
    window.type('\r');
    expect(await window.exited()).toBe(1);
    const cleared = await here.run(['sessions', 'clear', '--legacy', '--yes']);
    expect(cleared).toMatchObject({ exitCode: 0, stdout: 'deleted 1 Session of no domain (7 B)\n' });
    expect((await here.run(['sessions', 'list'])).stdout).not.toContain('old history');
    const again = await here.run(['sessions', 'clear', '--legacy', '--yes']);
    expect(again).toMatchObject({ exitCode: 0, stdout: 'there is no old history of no domain\n' });
    expect((await listed()).private).toHaveLength(3);
  });

  it('S3, S12: what another domain puts in its place keeps no start, and is nobody’s history', async () => {
    await here.run(['stop', '--all']);
    const header = {
      type: 'session',
      version: 3,
      id: id(7),
      timestamp: '2026-11-30T19:10:58.599Z',
      cwd: own,
    };
    const plant = `cd /run/pi-agent-state/.pi/agent; mv sessions away; mkdir -p sessions/x; echo '${JSON.stringify(header)}' >sessions/x/a.jsonl`;
    expect(await here.run(['shell', work, '--', 'sh', '-c', plant])).toMatchObject({ exitCode: 0 });
    const result = await here.run(['shell', own, '--', 'true']);
    expect(result).toMatchObject({ exitCode: 0 });
    expect(result.stderr).toContain('.pi/agent/away');
    expect((await listed()).private).not.toContain(id(7));
  });

  it('S12: LEGACY_PATHS that make no sense are one clear line', async () => {
    for (const value of ['acme=work', '/a=nobody', '/a', '/a=work,/a/=private']) {
      const result = await here.run(['ps'], { env: { PI_SANDBOX_LEGACY_PATHS: value } });
      expect(result).toMatchObject({
        exitCode: 2,
        stdout: '',
        stderr: expect.stringContaining('LEGACY_PATHS'),
      });
    }
  });
});
