import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { eventually, processesOf, sandboxOf } from '../setup/look.ts';

const MEBIBYTE = 2 ** 20;

let here: Installation;
let project: string;

beforeAll(async () => {
  here = await installation();
  project = here.project();
});

afterAll(async () => {
  await here.cleanup();
  expect(await here.leftovers()).toEqual([]);
});

const shell = (...command: string[]) => ['shell', project, '--', ...command];

/** Everything that a started command has printed, when it has ended. */
async function collected(child: ReturnType<Installation['start']>) {
  const pieces: Buffer[] = [];
  child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
  const [code, signal] = await once(child, 'close');
  return { code, signal, output: Buffer.concat(pieces) };
}

describe('S14, S15: what a command in the sandbox reads and writes', () => {
  it('S15: the exit code is the command’s', async () => {
    const result = await here.run(shell('sh', '-c', 'echo out; echo err >&2; exit 7'));
    expect(result).toEqual({ exitCode: 7, signal: undefined, stdout: 'out\n', stderr: 'err\n' });
  });

  it('S15: a command that is not there is 127, named on stderr', async () => {
    const result = await here.run(shell('no-such-command', 'x'));
    expect(result).toMatchObject({ exitCode: 127, stdout: '' });
    expect(result.stderr).toContain('no-such-command: command not found');
  });

  it('S15: a command that a signal ended is 128 and its number', async () => {
    expect((await here.run(shell('sh', '-c', 'kill -KILL $$'))).exitCode).toBe(137);
  });

  it('S15: no shell reads the arguments', async () => {
    const given = ['$HOME', '*', 'a b', '', "'", '"', '`id`', '; exit 3', 'é'];
    const result = await here.run(shell('printf', '<%s>', ...given));
    expect(result.stdout).toBe(given.map((argument) => `<${argument}>`).join(''));
  });

  it('S15: a shell without a terminal reads its commands from standard input', async () => {
    const result = await here.run(['shell', project], { input: 'pwd\nexit 4\n' });
    expect(result).toMatchObject({ exitCode: 4, stdout: `${project}\n`, stderr: '' });
  });

  it('S14: 20 MB of any bytes pass both ways as they are', async () => {
    const bytes = randomBytes(20 * MEBIBYTE);
    const child = here.start(shell('cat'));
    child.stdin.end(bytes);
    const { code, output } = await collected(child);
    expect(code).toBe(0);
    expect(output.equals(bytes)).toBe(true);
  });

  it('S14: a command that does not read its input ends all the same', async () => {
    const child = here.start(shell('echo', 'done'));
    child.stdin.on('error', () => undefined);
    child.stdin.write(Buffer.alloc(4 * MEBIBYTE));
    const { code, output } = await collected(child);
    expect(code).toBe(0);
    expect(output.toString()).toBe('done\n');
  });

  it('S14: a reader that goes away ends the writer, and no process stays', async () => {
    const child = here.start(shell('yes', 'endless'));
    const [first] = await once(child.stdout, 'data');
    expect(String(first)).toContain('endless');
    child.stdout.destroy();
    // SIGPIPE, as a shell would report it.
    expect(await once(child, 'close')).toEqual([141, null]);
    const container = await sandboxOf(here, project);
    await eventually('the end of yes', async () => {
      return !(await processesOf(here, container)).some((line) => line.endsWith('yes endless'));
    });
  });

  it('S14: a reader that goes away ends pi and its tool too, and the code is not 0', async () => {
    // A tool that says something all the while: only who writes learns that nobody reads.
    const prompt = 'run while sleep 0.377; do echo tick; done';
    const child = here.start(['start', '--demo', project, '--', '--mode', 'json', '-p', prompt]);
    child.stdin.end();
    await new Promise<void>((settle) =>
      child.stdout.on('data', (piece) => {
        if (/update.*tick\\n/.test(String(piece))) settle();
      }),
    );
    child.stdout.destroy();
    const [code] = await once(child, 'close');
    expect(code).not.toBe(0);
    const container = await sandboxOf(here, project);
    await eventually('the end of pi', async () => {
      const left = await processesOf(here, container);
      return !left.some((line) => line.includes('sleep 0.377') || line.includes('dist/bundle/cli.js'));
    });
  });

  it('S14: a slow reader holds the writer back and loses nothing', async () => {
    const child = here.start(shell('sh', '-c', 'seq 1 400000'));
    child.stdout.pause();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const all = collected(child);
    child.stdout.resume();
    const { output } = await all;
    const lines = output.toString().trimEnd().split('\n');
    expect(lines.length).toBe(400_000);
    expect(lines.at(-1)).toBe('400000');
  });
});

describe('S14: an end of the command reaches pi and what its tools run', () => {
  it.each([
    { signal: 'SIGINT', code: 130 },
    { signal: 'SIGTERM', code: 143 },
    { signal: 'SIGHUP', code: 129 },
    { signal: 'SIGKILL', code: null },
  ] as const)('S14: $signal during a long bash tool', async ({ signal, code }) => {
    const marker = `sleep 3${signal.length}${signal.charCodeAt(3)}`;
    const child = here.start(['start', '--demo', project, '--', '-p', `run ${marker}`]);
    child.stdin.end();
    const ended = once(child, 'close');
    const container = await eventually('the sandbox', () => sandboxOf(here, project).catch(() => undefined));
    const running = async () =>
      (await processesOf(here, container)).filter(
        (line) => line.includes(marker) || line.includes('dist/bundle/cli.js'),
      );
    await eventually('the tool', async () => (await running()).some((line) => line === marker));
    child.kill(signal);
    const [exitCode, endedBy] = await ended;
    if (code === null) expect(endedBy).toBe(signal);
    else expect(exitCode).toBe(code);
    await eventually('the end of pi and its tool', async () => (await running()).length === 0, 10_000);
  });

  it('S14: the same for a command in a shell', async () => {
    const child = here.start(shell('sleep', '3999'));
    const container = await sandboxOf(here, project);
    const running = async () =>
      (await processesOf(here, container)).some((line) => line.endsWith('sleep 3999'));
    await eventually('the command', running);
    child.kill('SIGTERM');
    expect(await once(child, 'close')).toEqual([143, null]);
    expect(await running()).toBe(false);
  });
});
