/** Attacks that were tried from inside a sandbox and as a repository, and have to fail (docs/security.md, "What was tried"). */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { safeForTerminal } from '../../src/lib/redact.ts';
import { ENGINES, readyEngine } from '../setup/engines.ts';
import { type Installation, installation } from '../setup/installation.ts';
import { eventually, sandboxOf } from '../setup/look.ts';

/** Speaks in the supervisor's place: each argument is a frame as `type:json`. */
const IMPOSTOR = `
const [path, ...frames] = process.argv.slice(2);
const bytes = frames.map((frame) => {
  const payload = Buffer.from(frame.slice(frame.indexOf(':') + 1));
  const head = Buffer.alloc(5);
  head.writeUInt8(Number(frame.split(':', 1)[0]));
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
});
require('node:fs').rmSync(path, { force: true });
require('node:net').createServer((peer) => {
  peer.on('error', () => undefined).resume();
  peer.write(Buffer.concat(bytes));
}).listen(path);
`;
const [HELLO, REPLY] = [1, 3];
const EVIL = '\u001b]52;c;ZXZpbA==\u0007\u001b[31m\u009b2J\u202eevil';

describe.each(ENGINES)('attacks, on %s', (kind) => {
  let here: Installation;
  let red: string;
  let blue: string;

  beforeAll(async () => {
    here = await installation(await readyEngine(kind, inject('e2e')));
    here.configure('.env', 'DOMAINS=red,blue\nDEFAULT_DOMAIN=red\n');
    red = here.project();
    blue = here.project();
  });

  afterAll(async () => {
    await here.cleanup();
    expect(await here.leftovers()).toEqual([]);
  });

  const inRed = (script: string, project = red) => here.run(['shell', project, '--', 'bash', '-c', script]);
  const inBlue = (script: string) =>
    here.run(['shell', '--domain', 'blue', blue, '--', 'bash', '-c', script]);

  /** Puts an impostor in the place of the supervisor of a new sandbox; takes what it says as frames. */
  async function impostor(...frames: [number, unknown][]): Promise<string> {
    const project = here.project();
    writeFileSync(join(project, 'impostor.cjs'), IMPOSTOR);
    await inRed('true', project);
    const container = await sandboxOf(here, project);
    const socket = '/run/user/1000/pi-sandbox/supervisor.sock';
    const before = await here.engine.command(['exec', container, 'stat', '-c', '%i', socket]);
    const said = frames.map(([type, value]) => `${type}:${JSON.stringify(value)}`);
    await here.engine.command([
      'exec',
      '-d',
      container,
      'node',
      join(project, 'impostor.cjs'),
      socket,
      ...said,
    ]);
    await eventually('the impostor', async () => {
      const now = await here.engine
        .command(['exec', container, 'stat', '-c', '%i', socket])
        .catch(() => before);
      return now !== before;
    });
    return project;
  }

  describe('a hostile process that speaks as the supervisor', () => {
    const hello: [number, unknown] = [HELLO, { protocol: 1, version: '0' }];

    it('S14: its no is a failure, and its words reach the terminal without control', async () => {
      const no = { answer: 'refused', message: `${EVIL}\nsecond`, hint: EVIL, exitCode: 0 };
      const project = await impostor(hello, [REPLY, no]);
      const { exitCode, stderr } = await inRed('true', project);
      expect(exitCode).toBe(1);
      expect(stderr).toContain('evil');
      expect(safeForTerminal(stderr, { lines: true })).toBe(stderr);
      expect(stderr.split('\n')).toHaveLength(3);
      expect((await here.run(['stop', project])).exitCode).toBe(0);
    });

    it('S14: another protocol version ends the command, which does not wait for it', async () => {
      const project = await impostor([HELLO, { protocol: 99, version: EVIL }]);
      const { exitCode, stderr } = await inRed('true', project);
      expect(exitCode).toBe(2);
      expect(stderr).toContain('cannot talk to');
      expect(stderr).not.toContain('\u001b');
    });

    it('S15: ps lists it all the same, and stop ends it', async () => {
      const time = new Date(0).toISOString();
      const living = Array.from({ length: 100 }, () => ({ kind: 'session', id: EVIL, since: time }));
      const stray = [{ pid: 1, command: EVIL }];
      const value = { version: EVIL, startedAt: time, living, stray, memory: { used: -1, limit: 1e15 } };
      const project = await impostor(hello, [REPLY, { answer: 'accepted', value }]);
      const { exitCode, stdout } = await here.run(['ps']);
      expect(exitCode).toBe(0);
      expect(stdout).toContain(project);
      expect(safeForTerminal(stdout, { lines: true })).toBe(stdout);
      expect((await here.run(['stop', project])).exitCode).toBe(0);
    });

    it('S15: a token that nobody ever writes holds up neither ps nor stop', async () => {
      const project = here.project();
      await inRed('cd "$XDG_RUNTIME_DIR/pi-sandbox"; rm token; mkfifo token', project);
      expect((await here.run(['ps'])).stdout).toContain('does not answer');
      expect((await here.run(['stop', project])).exitCode).toBe(0);
    });
  });

  describe('a hostile domain', () => {
    it.each([
      ['links', 'for e in .cache .config .pi-lens .kube .pi/agent/npm; do rm -rf $e; ln -s /etc/x $e; done'],
      [
        'files, pipes and loops',
        'rm -rf .cache .config .pi-lens; echo x >.cache; mkfifo .config; ln -s . .pi-lens',
      ],
      [
        'pipes for state',
        'cd .pi/agent; for f in models-store.json trust.json .setup.lock .trust.lock; do rm -rf $f; mkfifo $f; done',
      ],
      [
        'decisions named as prototypes',
        `cd .pi/agent; rm -rf *.lock trust.json .*.lock; echo '{"__proto__":true}' >trust.json`,
      ],
    ])('S3: %s planted in the shared volume keep no other domain from working', async (_what, script) => {
      await inRed(`cd /run/pi-agent-state; ${script}`);
      const result = await inBlue(
        'echo mine >~/mine; cat ~/mine; cat /home/pi/.kube/config 2>/dev/null; echo "$HOME"',
      );
      expect(result).toMatchObject({ exitCode: 0, stdout: 'mine\n/home/pi/.pi/domain/home\n' });
      await here.run(['stop', '--domain', 'blue', blue]);
    });

    it('S15: a log of any length without a line does not hold up logs', async () => {
      const project = here.project();
      await inRed('true', project);
      const container = await sandboxOf(here, project);
      const log = `/home/pi/.pi/domain/logs/sandboxes/${container}.jsonl`;
      await here.engine.command(['exec', container, 'truncate', '-s', '1T', log]);
      await here.engine.command(['rm', '-f', container]);
      expect(await here.run(['logs', project])).toMatchObject({ exitCode: 0, stdout: '' });
    });

    it('S15: any number of planted logs leaves ps --all its answer', async () => {
      const project = here.project();
      await inRed(
        'cd ~/.pi/domain/logs/sandboxes; seq -f "x%g.jsonl" 20000 | xargs touch; mkfifo y.jsonl',
        project,
      );
      const container = await sandboxOf(here, project);
      await here.run(['stop', project]);
      const { exitCode, stdout } = await here.run(['ps', '--all']);
      expect(exitCode).toBe(0);
      expect(stdout).toContain(container);
    });
  });

  describe('a hostile repository', () => {
    it('S8: links, pipes and long files in .pi-sandbox are named and never read', async () => {
      const project = here.project();
      const key = join(here.directory, 'key');
      writeFileSync(key, 'THE-KEY');
      chmodSync(key, 0o644);
      const own = join(project, '.pi-sandbox');
      mkdirSync(own);
      symlinkSync(key, join(own, 'AGENTS.md'));
      execFileSync('mkfifo', [join(own, 'settings.json')]);
      symlinkSync('/dev/zero', join(own, 'mcp.json'));
      symlinkSync(here.directory, join(own, 'skills'));
      const { exitCode, stdout, stderr } = await inRed(
        'cat /run/pi-session/AGENTS.md; ls /run/pi-session/config',
        project,
      );
      expect(exitCode).toBe(0);
      expect(`${stdout}${stderr}`).not.toContain('THE-KEY');
      expect(stderr).toContain('AGENTS.md: is ignored');
      expect(stderr).toContain('settings.json: is ignored');
      expect(stderr).toContain('mcp.json: is ignored');
    });

    it('S8: nesting that no program can follow is one clear line', async () => {
      const project = here.project();
      mkdirSync(join(project, '.pi-sandbox'));
      const deep = `{"compaction":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`;
      writeFileSync(join(project, '.pi-sandbox/settings.json'), deep);
      const { exitCode, stderr } = await inRed('true', project);
      expect(exitCode).toBe(2);
      expect(stderr).not.toContain('fault of pi-sandbox');
    });

    it('S17: a planted .git file mounts nothing of another repository', async () => {
      const other = here.project();
      execFileSync('git', ['init', '-q', other]);
      const project = here.project();
      writeFileSync(join(project, '.git'), `gitdir: ${join(other, '.git')}\n`);
      const { stdout, stderr } = await inRed(`ls ${other} 2>&1; true`, project);
      expect(stdout).toContain('No such file');
      expect(stderr).toContain('does not point back');
    });

    it('S17: what a session hides in the git configuration is named when it ends', async () => {
      const project = here.project();
      execFileSync('git', ['init', '-q', project]);
      execFileSync('chown', ['-R', `--reference=${project}`, join(project, '.git')]);
      const hidden = await inRed(`printf '[x][core]fsmonitor = evil\\n' >>.git/config`, project);
      expect(hidden.stderr).toContain('git config core.fsmonitor');
      const moved = await inRed('mv .git other; echo "gitdir: other" >.git', project);
      expect(moved.stderr).toMatch(/execute: \.git$/m);
      expect(readFileSync(join(project, '.git'), 'utf8')).toBe('gitdir: other\n');
    });
  });
});
