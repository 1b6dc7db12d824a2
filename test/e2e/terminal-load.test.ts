import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { ENGINES, readyEngine } from '../setup/engines.ts';
import { type Installation, installation } from '../setup/installation.ts';
import { eventually, processesOf, sandboxOf } from '../setup/look.ts';
import { type TestTerminal, terminal } from '../setup/terminal.ts';

const MEBIBYTE = 2 ** 20;
/** Of one to four bytes each, and what is several of them to a reader: combined, joined, a flag. */
const CHARACTERS = 'aé中\u{1f600}e\u0301\u{1f468}\u200d\u{1f469}\u200d\u{1f467}\u{1f1eb}\u{1f1f7}ﾊﾟ';

describe.each(ENGINES)('S20: a terminal under load on %s', (kind) => {
  let here: Installation;
  let project: string;
  let open: TestTerminal[] = [];

  beforeAll(async () => {
    here = await installation(await readyEngine(kind, inject('e2e')));
    here.configure(
      'config/settings.json',
      JSON.stringify({ quietStartup: true, defaultProjectTrust: 'never', tuiMode: 'fullscreen' }),
    );
    project = here.project();
  });

  afterEach(() => {
    for (const each of open) each.kill();
    open = [];
  });

  afterAll(async () => {
    await here.cleanup();
    expect(await here.leftovers()).toEqual([]);
  });

  function run(...args: string[]): TestTerminal {
    const window = terminal(process.execPath, [here.cli, ...args], { env: here.env, cwd: here.directory });
    open.push(window);
    return window;
  }

  /** A script in the sandbox, in a terminal that hands everything on as it is. */
  const raw = (script: string, ...args: string[]): TestTerminal =>
    run('shell', project, '--', 'sh', '-c', `stty raw -echo; ${script}`, 'sh', ...args);

  it('S20: 100 resizes in 2 s while output flows: the last one counts, in the program and on the screen', async () => {
    const script = `trap 'exit 0' TERM; i=0; while [ ! -e "$1" ]; do i=$((i + 1)); echo "line $i of many, wider than a narrow window"; sleep 0.002; done; sleep 0.3; clear; stty size; printf '%.0s=' $(seq $(tput cols)); sleep 60`;
    const mark = `/tmp/${randomBytes(4).toString('hex')}`;
    const window = run('shell', project, '--', 'sh', '-c', script, 'sh', mark);
    await window.shows(/line \d+ of many/);
    for (let n = 0; n < 100; n++) {
      window.resize(40 + ((n * 37) % 120), 10 + ((n * 17) % 40));
      await sleep(20);
    }
    window.resize(93, 31);
    await here.run(['shell', project, '--', 'touch', mark]);
    const screen = await window.shows('31 93');
    expect(screen).not.toContain('line');
    await window.shows(new RegExp(`^${'='.repeat(93)}$`, 'm'));
  });

  it('S20: a bracketed paste of 1 MB arrives byte for byte', async () => {
    const text = CHARACTERS.repeat(Math.ceil(MEBIBYTE / Buffer.byteLength(CHARACTERS)));
    const paste = Buffer.from(`\u001b[200~${text}\u001b[201~`);
    const window = raw('echo ready; head -c "$1" | sha256sum', String(paste.length));
    await window.shows('ready');
    window.type(paste);
    await window.shows(createHash('sha256').update(paste).digest('hex'), 60_000);
    expect(await window.exited()).toBe(0);
  });

  it('S20: characters split at every byte arrive whole, both ways', async () => {
    const bytes = Buffer.from(CHARACTERS);
    const window = raw(
      'echo ready; dd bs=1 count="$1" status=none | od -An -v -tx1 | tr -d " \\n"',
      String(bytes.length),
    );
    await window.shows('ready');
    for (const byte of bytes) {
      window.type(Uint8Array.of(byte));
      await sleep(4);
    }
    await window.exited();
    expect(window.bytes().toString('latin1').replaceAll(/\s/g, '')).toContain(bytes.toString('hex'));
    // Out in single bytes, each with time to be sent alone.
    const octal = [...bytes].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`);
    const out = raw('for b; do printf "$b"; sleep 0.01; done', ...octal);
    expect(await out.exited()).toBe(0);
    expect(out.bytes().equals(bytes)).toBe(true);
    expect(out.screen()).not.toContain('\ufffd');
  });

  it('S20: title, copy, hyperlink, images and unknown sequences pass as they are, split or not', async () => {
    const sequences = [
      '\u001b]0;a title \u00e9\u0007',
      `\u001b]52;c;${Buffer.from('copied').toString('base64')}\u001b\\`,
      '\u001b]8;;https://example.org/\u001b\\link\u001b]8;;\u001b\\',
      `\u001bP+q544e\u001b\\\u001b_Gf=100;${'A'.repeat(5_000)}\u001b\\`,
      '\u001b[?9999h\u001b[38:2::1:2:3mx\u001b[0m',
    ].join('');
    const window = raw('printf %s "$1"; printf %s "$1" | dd bs=7 status=none', sequences);
    expect(await window.exited()).toBe(0);
    expect(window.bytes().toString()).toBe(sequences.repeat(2));
  });

  it('S20: Ctrl-C reaches a program that floods the terminal', async () => {
    const window = run('shell', project, '--', 'yes', 'a flood of words');
    await window.shows('a flood of words');
    await sleep(500);
    window.type('\u0003');
    expect(await window.exited(10_000)).toBe(130);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)(
    'S20: %s of the command: exit code %i, pi has ended, the terminal is as it was',
    async (signal, code) => {
      const script = 'stty -a; "$@"; echo "code=$?"; stty -a; echo end';
      const words = ['start', '--demo', project];
      // In a group of its own, as a shell with job control would start it: the signal is for the command alone.
      const window = terminal('bash', ['-mc', script, 'sh', process.execPath, here.cli, ...words], {
        env: here.env,
        cwd: here.directory,
      });
      open.push(window);
      await window.shows('demo-1');
      expect(window.leftModes()).toContain('alternate screen');
      const before = window.bytes().length;
      const [command] = await eventually('the command', async () => childrenOf(window.pid));
      process.kill(command ?? 0, signal);
      await window.wrote(/end\r\n$/);
      const written = window.bytes().toString();
      expect(written).toContain(`code=${code}`);
      expect(settings(written)[1]).toBe(settings(written)[0]);
      expect(window.bytes().length).toBeGreaterThan(before);
      expect(window.leftModes()).toEqual([]);
      const container = await sandboxOf(here, project);
      await eventually('the end of pi', async () => {
        return !(await processesOf(here, container)).some((line) => line.includes('dist/bundle/cli.js'));
      });
    },
  );

  it('S20: a program that the kernel ends for lack of memory: 137, and the limit is said', async () => {
    const greedy = 'const all = []; for (;;) all.push(Buffer.alloc(8e6, 1));';
    const words = ['shell', '--memory', '200m', here.project(), '--', 'node', '-e', greedy];
    const { exitCode, stderr } = await here.run(words);
    expect(exitCode).toBe(137);
    expect(stderr).toContain('for lack of memory (limit 200 MiB)');
  });

  it('S20: a sandbox that is killed under pi: 137, said in words, and the terminal is as it was', async () => {
    const script = 'stty -a; "$@"; echo "code=$?"; stty -a; echo end';
    const words = ['start', '--demo', project];
    const window = terminal('sh', ['-c', script, 'sh', process.execPath, here.cli, ...words], {
      env: here.env,
      cwd: here.directory,
    });
    open.push(window);
    await window.shows('demo-1');
    await here.engine.command(['kill', await sandboxOf(here, project)]);
    await window.wrote(/end\r\n$/);
    const written = window.bytes().toString();
    expect(written).toContain('is gone: it was stopped or killed');
    expect(written).toContain('code=137');
    expect(settings(written)[1]).toBe(settings(written)[0]);
    expect(window.leftModes()).toEqual([]);
  });
});

/** Each `stty -a` in what was written, in one line. */
function settings(written: string): string[] {
  return [...written.matchAll(/speed \d+ baud[\s\S]*?echoke[^\r\n]*/g)].map(([text]) =>
    text.replaceAll(/\s+/g, ' '),
  );
}

async function childrenOf(pid: number): Promise<number[] | undefined> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim();
  return children === '' ? undefined : children.split(' ').map(Number);
}
