import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { eventually, processesOf, sandboxes, sandboxOf } from '../setup/look.ts';
import { modelServer } from '../setup/model-server.ts';
import { type TestTerminal, terminal } from '../setup/terminal.ts';

const SETTINGS = { quietStartup: true, defaultProjectTrust: 'never', tuiMode: 'regular' };

let here: Installation;
let project: string;
let open: TestTerminal[] = [];

beforeAll(async () => {
  here = await installation();
  // Nothing but the prompt on the screen, and no question about trust.
  here.configure('config/settings.json', JSON.stringify(SETTINGS));
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

interface Window {
  columns?: number;
  rows?: number;
  env?: NodeJS.ProcessEnv;
}

/** The command in a terminal of its own. */
function run(args: readonly string[], { env, ...size }: Window = {}): TestTerminal {
  const window = terminal(process.execPath, [here.cli, ...args], {
    env: { ...here.env, ...env },
    cwd: here.directory,
    ...size,
  });
  open.push(window);
  return window;
}

/** The command as a line of a shell's, which then tells how it left the terminal. */
function runInShell(args: readonly string[], env: NodeJS.ProcessEnv = {}): TestTerminal {
  const script = '"$@"; echo "code=$?"; stty -a';
  const window = terminal('sh', ['-c', script, 'sh', process.execPath, here.cli, ...args], {
    env: { ...here.env, ...env },
    cwd: here.directory,
  });
  open.push(window);
  return window;
}

const demo = (...options: string[]) => ['start', '--demo', ...options, project];
/** What pi's own status line shows when it is ready for a prompt. */
const READY = 'demo-1';

describe('S20: pi in the user’s terminal', () => {
  it.each([
    { columns: 80, rows: 24 },
    { columns: 120, rows: 40 },
  ])('S20: the first frame fills $columns x $rows, and nothing was drawn for another size', async (size) => {
    const window = run(demo(), size);
    const screen = await window.shows(READY);
    const widest = Math.max(...screen.split('\n').map((line) => line.length));
    expect(widest).toBe(size.columns);
    const rules = window
      .bytes()
      .toString()
      .match(/─{20,}/g);
    expect(rules?.every((rule) => rule.length === size.columns)).toBe(true);
    window.type('\u0004');
    expect(await window.exited()).toBe(0);
  });

  it('S20: a new size reaches pi at once', async () => {
    const window = run(demo());
    await window.shows(READY);
    window.resize(100, 30);
    await window.shows(/─{100}/);
  });

  it('S14, S20: a typed prompt is answered, with a real tool call', async () => {
    const window = run(demo());
    await window.shows(READY);
    window.type('run echo the answer is $((6 * 7))');
    await window.shows('$((6 * 7))');
    window.type('\r');
    await window.shows('the answer is 42');
  });

  it('S20: what pi copies reaches the clipboard of the user’s terminal', async () => {
    const window = run(demo());
    await window.shows(READY);
    window.type('hello');
    await window.shows(/hello/);
    window.type('\r');
    await window.shows('I am the demo model');
    window.type('/copy');
    await window.shows('/copy');
    window.type('\r');
    await window.wrote(/\]52;c;[A-Za-z0-9+/=]{20,}/);
  });

  it('S20: Ctrl-P reaches the program at once', async () => {
    const window = run([
      'shell',
      project,
      '--',
      'sh',
      '-c',
      'stty -icanon -isig -echo; echo ready; dd bs=1 count=1 | od -c',
    ]);
    await window.shows('ready');
    window.type('\u0010');
    await window.shows('020');
    expect(await window.exited()).toBe(0);
  });

  it('S20: Ctrl-D ends pi with 0, and the terminal is as it was', async () => {
    const window = runInShell(demo());
    await window.shows(READY);
    window.type('\u0004');
    const screen = await window.shows('echoctl');
    expect(screen).toContain('code=0');
    expect(screen).toMatch(/(^|\s)icanon(\s|$)/m);
    expect(screen).toMatch(/(^|\s)echo(\s|$)/m);
    expect(screen).toMatch(/(^|\s)isig(\s|$)/m);
    expect(screen).toMatch(/(^|\s)opost(\s|$)/m);
  });

  it('S20: Ctrl-Z does not stop pi, which nothing here could continue', async () => {
    const window = run(demo());
    await window.shows(READY);
    window.type('before ');
    await window.shows('before');
    window.type('\u001a');
    // pi puts its screen away and brings it back; what is typed meanwhile is nobody's.
    await sleep(500);
    window.type('after');
    await window.shows('before after');
    window.type('\u0003\u0003\u0003');
    expect(await window.exited()).toBe(0);
  });

  it('S20: characters typed byte by byte stand in pi’s editor whole', async () => {
    const window = run(demo());
    await window.shows(READY);
    for (const byte of Buffer.from('é中\u{1f600}!')) {
      window.type(Uint8Array.of(byte));
      await sleep(5);
    }
    await window.shows('é中\u{1f600}!');
  });

  it('S20: a paste of 256 KB into pi’s editor is the prompt byte for byte', async () => {
    const model = await modelServer();
    onTestFinished(() => model.stop());
    // Enough for a prompt of that length; 1 MB reaches a program whole in test/unit/container/programs.test.ts.
    here.configure('config/models.json', model.models.replaceAll('32000', '4000000'));
    here.configure('config/settings.json', JSON.stringify({ ...SETTINGS, ...JSON.parse(model.settings) }));
    onTestFinished(() => {
      here.configure('config/models.json', '{}');
      here.configure('config/settings.json', JSON.stringify(SETTINGS));
    });
    model.say('the paste', 'All of it.');
    const line = `${'é中\u{1f600} words, "quotes" and \\ '.repeat(40)}\n`;
    const text = `the paste\n${line.repeat(Math.ceil(2 ** 18 / Buffer.byteLength(line)))}end`;
    const window = run(['start', project]);
    await window.shows('fake-1');
    // A terminal sends a line's end as the Return key does.
    window.type(`\u001b[200~${text.replaceAll('\n', '\r')}\u001b[201~`);
    await window.shows(/\[paste #\d/, 60_000);
    window.type('\r');
    await window.shows('All of it.', 60_000);
    // The model server keeps no request of that length; pi's Session has what was sent.
    const program = `
      const { globSync, readFileSync } = require('node:fs');
      const lines = globSync(process.env.HOME + '/.pi/agent/sessions/*/*.jsonl').flatMap((file) => readFileSync(file, 'utf8').trimEnd().split('\\n'));
      const sent = lines.map((line) => JSON.parse(line).message).filter((message) => message?.role === 'user');
      const text = sent.map(({ content }) => content[0].text).find((text) => text.startsWith('the paste'));
      console.log(require('node:crypto').createHash('sha256').update(text).digest('hex'));`;
    const { stdout } = await here.run(['shell', project, '--', 'node', '-e', program]);
    expect(stdout.trim()).toBe(createHash('sha256').update(text).digest('hex'));
  });

  it('S20: an engine that goes away is told from a program’s exit', async () => {
    const path = join(here.directory, 'engine.sock');
    const server = createServer((client) => {
      const engine = connect('/var/run/docker.sock');
      client.pipe(engine).pipe(client);
      for (const end of [client, engine]) end.on('error', () => undefined);
      connections.push(client, engine);
    });
    const connections: Socket[] = [];
    await once(server.listen(path), 'listening');
    const window = runInShell(demo(), { DOCKER_HOST: `unix://${path}` });
    await window.shows(READY);
    server.close();
    for (const connection of connections) connection.destroy();
    const written = await window.wrote('echoctl');
    expect(written).toMatch(/the connection to \S+ was lost, and the engine does not answer/);
    expect(written).toContain('code=1');
    expect(window.leftModes()).toEqual([]);
    const again = run(demo());
    await again.shows(READY);
  });

  it('S14: Ctrl-C is pi’s own key, and twice ends it', async () => {
    const window = run(demo());
    await window.shows(READY);
    window.type('some words');
    await window.shows('some words');
    window.type('\u0003');
    await eventually('the empty line', async () => !window.screen().includes('some words'));
    window.type('\u0003');
    window.type('\u0003');
    expect(await window.exited()).toBe(0);
  });

  it('S14: a hang-up of the terminal ends pi', async () => {
    const window = run(demo());
    await window.shows(READY);
    const container = await sandboxOf(here, project);
    window.kill('SIGHUP');
    await eventually('the end of pi', async () => {
      return !(await processesOf(here, container)).some((line) => line.includes('dist/bundle/cli.js'));
    });
  });

  it('S14: a second terminal joins the same sandbox with a Session of its own', async () => {
    const first = run(demo());
    await first.shows(READY);
    const second = run(demo());
    await second.shows(READY);
    expect(await sandboxes(here, project)).toHaveLength(1);
    first.type('\u0004');
    expect(await first.exited()).toBe(0);
    second.type('run echo still here$((1 + 1))\r');
    await second.shows('still here2');
  });
});

describe('S15, S20: a shell in the user’s terminal', () => {
  it('S15: an interactive bash as the user pi in the project', async () => {
    const window = run(['shell', project], { columns: 100, rows: 30 });
    await window.shows('$');
    window.type('tty; stty size; whoami; pwd; echo "$TERM"\r');
    const screen = await window.shows('xterm-256color');
    expect(screen).toContain('/dev/pts/');
    expect(screen).toContain('30 100');
    expect(screen).toMatch(/^pi$/m);
    expect(screen.replaceAll('\n', '')).toContain(project);
    window.type('exit 9\r');
    expect(await window.exited()).toBe(9);
  });

  it('S15: job control works: Ctrl-C and Ctrl-Z reach the program and not the shell', async () => {
    const window = run(['shell', project]);
    await window.shows('$');
    window.type('sleep 100\r');
    await eventually('sleep', async () => {
      return (await processesOf(here, await sandboxOf(here, project))).includes('sleep 100');
    });
    window.type('\u0003');
    window.type('echo "code=$?"\r');
    await window.shows('code=130');
    window.type('sleep 100\r');
    await eventually('sleep again', async () => {
      return (await processesOf(here, await sandboxOf(here, project))).includes('sleep 100');
    });
    window.type('\u001a');
    await window.shows('Stopped');
    window.type('kill %1; exit\r');
    window.type('exit\r');
    await window.exited();
  });

  it('S20: characters of several bytes and escape sequences arrive whole', async () => {
    const line = 'é中文\u{1f600}\u{1f468}\u200d\u{1f469}\u200d\u{1f467}';
    const script = `for i in $(seq 1 2000); do printf '%s\\033[31m%s\\033[0m\\n' "$1" "$1"; done; echo end`;
    const window = run(['shell', project, '--', 'sh', '-c', script, 'sh', line]);
    // As a terminal that is slow to draw: the last of it is written when the program has ended long since.
    window.pause(1_000);
    expect(await window.exited()).toBe(0);
    const written = window.bytes().toString('utf8');
    const expected = `${line}\u001b[31m${line}\u001b[0m\r\n`;
    expect(written).toBe(`${expected.repeat(2_000)}end\r\n`);
  });

  it('S20: a line feed alone stays one, for programs that draw with it', async () => {
    const window = run(['shell', project, '--', 'sh', '-c', "stty raw; printf 'ab\\ncd'"]);
    expect(await window.exited()).toBe(0);
    expect(window.bytes().toString()).toBe('ab\ncd');
  });

  it('S20: TERM, COLORTERM, LANG and TZ are the user’s; --env adds to them', async () => {
    const env = { TERM: 'screen-256color', COLORTERM: 'truecolor', LANG: 'C.UTF-8', TZ: 'Asia/Tokyo' };
    const print = 'echo "$TERM,$COLORTERM,$LANG,$TZ,$MINE"';
    const window = run(['shell', '--env', 'MINE=yes', project, '--', 'sh', '-c', print], { env });
    await window.shows('screen-256color,truecolor,C.UTF-8,Asia/Tokyo,yes');
    expect(await window.exited()).toBe(0);
  });

  it('S20: a terminal that the image does not know brings its description, and one that nobody knows is taken for the common one', async () => {
    const database = mkdtempSync(join(here.directory, 'terminfo-'));
    const source = execFileSync('infocmp', ['xterm-256color'], { encoding: 'utf8' });
    const own = source
      .replace(/^xterm-256color[^,]*,/m, 'my-own-term,')
      .replace(/colors#[^,]*,/, 'colors#123,');
    execFileSync('tic', ['-x', '-o', database, '-'], { input: own });
    for (const [env, shown] of [
      [{ TERM: 'my-own-term', TERMINFO: database }, 'my-own-term 123'],
      [{ TERM: 'nobody-knows' }, 'xterm-256color 256'],
    ] as const) {
      const script = 'echo "$TERM $(tput colors)"';
      const window = terminal(
        process.execPath,
        [here.cli, 'shell', here.project(), '--', 'sh', '-c', script],
        {
          env: { ...here.env, ...env },
          cwd: here.directory,
        },
      );
      expect(await window.exited()).toBe(0);
      expect(window.screen()).toContain(shown);
    }
  });

  it('S20: OSC 52 copy passes through', async () => {
    const copy = '\u001b]52;c;aGVsbG8=\u0007';
    const window = run(['shell', project, '--', 'printf', '%s', copy]);
    expect(await window.exited()).toBe(0);
    expect(window.bytes().toString()).toContain(copy);
  });
});
