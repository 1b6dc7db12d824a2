import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { RunRequest } from '../../../src/wire/index.ts';
import {
  ask,
  feeder,
  finished,
  isAlive,
  residentBytes,
  runIn,
  runningSandbox,
  runRequest,
  sha256,
  type TestSandbox,
  until,
} from './sandbox.ts';

const TERMINAL = { columns: 80, rows: 24 };
const MEBIBYTE = 1024 * 1024;

async function open(sandbox: TestSandbox, command: string[], more: Partial<RunRequest> = {}) {
  const connection = await sandbox.join();
  expect(await ask(connection, runRequest(command, more))).toEqual({ answer: 'accepted' });
  return connection;
}

/** The process's pid as the program itself printed it. */
/** A `trap` in front is set before the pid is said: whoever knows the pid may send signals. */
async function openWithPid(sandbox: TestSandbox, script: string, more: Partial<RunRequest> = {}) {
  const trap = /^trap '[^']*' \w+; /.exec(script)?.[0] ?? '';
  const connection = await open(
    sandbox,
    ['bash', '-c', `${trap}echo $$; ${script.slice(trap.length)}`],
    more,
  );
  const frame = await connection.read();
  if (frame?.type !== 'data') throw new Error(`${frame?.type} instead of the pid`);
  return { connection, pid: Number(Buffer.from(frame.bytes).toString('utf8').trim()) };
}

describe('a program with pipes', () => {
  it('S14: exit codes and signals are exact, standard error is apart', async () => {
    const sandbox = await runningSandbox();
    const code = await runIn(sandbox, ['sh', '-c', 'echo out; echo err >&2; exit 41']);
    expect(code.exited).toEqual({ code: 41, signal: null });
    expect(code.stdout.toString()).toBe('out\n');
    expect(code.stderr).toBe('err\n');
    const killed = await runIn(sandbox, ['sh', '-c', 'kill -USR1 $$']);
    expect(killed.exited).toEqual({ code: null, signal: 'SIGUSR1' });
  });

  it('S14: a command that is not there is 127 and said so, a missing directory is refused by name', async () => {
    const sandbox = await runningSandbox();
    const missing = await runIn(sandbox, ['no-such-command']);
    expect(missing.exited).toEqual({ code: 127, signal: null });
    expect(missing.stderr).toContain('no-such-command: command not found');
    const connection = await sandbox.join();
    const reply = await ask(connection, runRequest(['true'], { directory: '/no/such/directory' }));
    expect(reply).toMatchObject({
      answer: 'refused',
      message: expect.stringContaining('/no/such/directory'),
    });
  });

  it('S14: a file that cannot be executed after all is 126, with the reason', async () => {
    const sandbox = await runningSandbox();
    const script = `${sandbox.roots.runtime}/broken`;
    await runIn(sandbox, ['sh', '-c', `echo '#!/no/such/interpreter' >${script}; chmod 755 ${script}`]);
    const broken = await runIn(sandbox, [script]);
    expect(broken.exited).toEqual({ code: 126, signal: null });
    expect(broken.stderr).toContain(script);
  });

  it.each([undefined, TERMINAL])('S15: it sees its name as it was typed (terminal: %j)', async (terminal) => {
    const sandbox = await runningSandbox();
    const name = ['bash', '-c', 'echo "<$0>"; tr "\\0" " " </proc/$$/cmdline'];
    const more = terminal === undefined ? {} : { terminal };
    // Beside another terminal, whose descriptor takes a shell to close.
    const other = await openWithPid(sandbox, 'sleep 60', { terminal: TERMINAL });
    const { stdout } = await runIn(sandbox, name, more);
    expect(stdout.toString()).toContain('<bash>');
    expect(stdout.toString()).toMatch(/^bash -c/m);
    other.connection.destroy();
  });

  it('S14: 20 MB of standard input reach a slow reader byte for byte, in bounded memory', async () => {
    const sandbox = await runningSandbox();
    const reader =
      'process.stdin.pause();const h=require("crypto").createHash("sha256");setTimeout(()=>{' +
      'process.stdin.on("data",(c)=>{h.update(c);process.stdin.pause();setTimeout(()=>process.stdin.resume(),1)})' +
      '.on("end",()=>console.log(h.digest("hex"))).resume()},300)';
    const connection = await open(sandbox, [process.execPath, '-e', reader]);
    const { send, onFrame } = feeder(connection);
    const result = finished(connection, onFrame);
    const before = residentBytes(sandbox.child.pid);
    const hash = createHash('sha256');
    let most = 0;
    for (let sent = 0; sent < 20 * MEBIBYTE; sent += MEBIBYTE / 2) {
      const bytes = randomBytes(MEBIBYTE / 2);
      hash.update(bytes);
      expect(await send(bytes)).toBe(true);
      most = Math.max(most, residentBytes(sandbox.child.pid));
    }
    connection.send({ type: 'end-of-input' });
    expect((await result).stdout.toString().trim()).toBe(hash.digest('hex'));
    expect(most - before).toBeLessThan(60 * MEBIBYTE);
  });

  it('S14: 50 MB of standard output wait for a slow client, in bounded memory', async () => {
    const sandbox = await runningSandbox();
    const connection = await open(sandbox, ['sh', '-c', 'head -c 52428800 /dev/zero; echo end >&2']);
    const before = residentBytes(sandbox.child.pid);
    let [bytes, most] = [0, 0];
    connection.onFrame(async (frame) => {
      if (frame.type === 'data') bytes += frame.bytes.length;
      if (bytes < 10 * MEBIBYTE) await sleep(5);
      most = Math.max(most, residentBytes(sandbox.child.pid));
    });
    await sleep(300);
    expect(bytes).toBeLessThan(52_428_800);
    await connection.closed;
    expect(bytes).toBe(52_428_800);
    expect(most - before).toBeLessThan(60 * MEBIBYTE);
  });

  it('S14: a closed standard output ends `yes` as a closed pipe does', async () => {
    const sandbox = await runningSandbox();
    const connection = await open(sandbox, ['yes']);
    await connection.read();
    connection.send({ type: 'output-closed', value: { stream: 'stdout' } });
    expect((await finished(connection)).exited).toEqual({ code: null, signal: 'SIGPIPE' });
  });

  it('S14: its streams can be opened again by name', async () => {
    const sandbox = await runningSandbox();
    const script = 'echo to-err >/dev/stderr; cat /dev/stdin >/dev/stdout';
    const connection = await open(sandbox, ['sh', '-c', script]);
    connection.send({ type: 'data', bytes: Buffer.from('through') });
    connection.send({ type: 'end-of-input' });
    expect(await finished(connection)).toMatchObject({ stdout: Buffer.from('through'), stderr: 'to-err\n' });
  });

  it('S14: the loss of the client is SIGTERM, and SIGKILL for who ignores it', async () => {
    const sandbox = await runningSandbox({ times: { hangUpGraceMs: 300 } });
    const file = `${sandbox.roots.runtime}/got`;
    const polite = await openWithPid(
      sandbox,
      `trap 'echo TERM >${file}; exit' TERM; while :; do sleep 0.1; done`,
    );
    polite.connection.destroy();
    await until(() => !isAlive(polite.pid), 'the polite program');
    expect((await runIn(sandbox, ['cat', file])).stdout.toString()).toBe('TERM\n');
    const stubborn = await openWithPid(sandbox, `trap '' TERM; while :; do sleep 0.1; done`);
    stubborn.connection.destroy();
    await until(() => !isAlive(stubborn.pid), 'the stubborn program');
  });

  it('S14: a background process that keeps the output open does not keep the client', async () => {
    const sandbox = await runningSandbox();
    const quiet = await runIn(sandbox, ['sh', '-c', 'sleep 3 & echo started $!']);
    expect(quiet.exited).toEqual({ code: 0, signal: null });
    expect(quiet.stdout.toString()).toMatch(/^started \d+\n$/);
    const noisy = await runIn(sandbox, ['sh', '-c', 'yes & exit 3']);
    expect(noisy.exited).toEqual({ code: 3, signal: null });
  });

  it('S14: SIGINT ends what pi left behind, and nothing else', async () => {
    const pi = '#!/bin/bash\nsetsid sleep 60 & echo $!; wait\n';
    const sandbox = await runningSandbox({ pi });
    const other = await openWithPid(sandbox, 'exec sleep 60');
    const connection = await open(sandbox, [], { program: 'pi' });
    const frame = await connection.read();
    if (frame?.type !== 'data') throw new Error('no pid');
    const tool = Number(Buffer.from(frame.bytes).toString());
    expect(isAlive(tool)).toBe(true);
    await sleep(100);
    connection.send({ type: 'signal', value: { signal: 'SIGINT' } });
    expect((await finished(connection)).exited).toEqual({ code: null, signal: 'SIGINT' });
    expect(isAlive(tool)).toBe(false);
    expect(isAlive(other.pid)).toBe(true);
  });

  it('S14: a pi that takes SIGINT and goes on keeps its tools', async () => {
    const pi = '#!/bin/bash\ntrap : INT; setsid sleep 60 & tool=$!; echo $tool; wait; sleep 0.3; exit 0\n';
    const sandbox = await runningSandbox({ pi });
    const connection = await open(sandbox, [], { program: 'pi' });
    const frame = await connection.read();
    if (frame?.type !== 'data') throw new Error('no pid');
    const tool = Number(Buffer.from(frame.bytes).toString());
    await sleep(100);
    connection.send({ type: 'signal', value: { signal: 'SIGINT' } });
    expect((await finished(connection)).exited).toEqual({ code: 0, signal: null });
    expect(isAlive(tool)).toBe(true);
    process.kill(tool);
  });
});

describe('a program in a terminal', () => {
  it('S20: it has its size before the first byte and after a resize, a name, and is its own session', async () => {
    const sandbox = await runningSandbox();
    const connection = await open(
      sandbox,
      ['bash', '-c', 'stty size; read -r; stty size; ps -o sid= -p $$; echo $$; tty'],
      { terminal: { columns: 97, rows: 31 } },
    );
    const result = finished(connection, () => undefined);
    await sleep(200);
    connection.send({ type: 'resize', value: { columns: 120, rows: 40 } });
    connection.send({ type: 'data', bytes: Buffer.from('\n') });
    const lines = (await result).stdout.toString().split(/\s*\r\n\s*/);
    expect(lines[0]).toBe('31 97');
    expect(lines).toContain('40 120');
    expect(lines.at(-2)).toMatch(/^\/dev\/pts\//);
    expect(lines.at(-4)?.trim()).toBe(lines.at(-3));
  });

  it('S14: exit codes and signals are exact', async () => {
    const sandbox = await runningSandbox();
    const code = await runIn(sandbox, ['sh', '-c', 'exit 7'], { terminal: TERMINAL });
    expect(code.exited).toEqual({ code: 7, signal: null });
    const killed = await runIn(sandbox, ['sh', '-c', 'kill -USR2 $$'], { terminal: TERMINAL });
    expect(killed.exited).toEqual({ code: null, signal: 'SIGUSR2' });
    const pipe = await runIn(sandbox, ['bash', '-c', 'yes | head -n 1 >/dev/null; echo $PIPESTATUS'], {
      terminal: TERMINAL,
    });
    expect(pipe.stdout.toString().trim()).toBe('141');
  });

  it('S20: the last 200 KB of a program that ends at once reach a slow client whole', async () => {
    const sandbox = await runningSandbox();
    const script = 'stty -opost; head -c 204800 /dev/zero | tr "\\0" x; printf END';
    const connection = await open(sandbox, ['bash', '-c', script], { terminal: TERMINAL });
    let text = '';
    connection.onFrame(async (frame) => {
      if (frame.type === 'data') text += Buffer.from(frame.bytes).toString('latin1');
      await sleep(40);
    });
    await connection.closed;
    expect(text.length).toBe(204_803);
    expect(text.endsWith('xEND')).toBe(true);
  });

  it('S20: 30 MB of output wait for a client that takes a pause, in bounded memory', async () => {
    const sandbox = await runningSandbox();
    const script = 'stty -opost; head -c 31457280 /dev/zero; printf END';
    const connection = await open(sandbox, ['bash', '-c', script], { terminal: TERMINAL });
    const before = residentBytes(sandbox.child.pid);
    let [bytes, most] = [0, 0];
    connection.onFrame(async (frame) => {
      if (frame.type !== 'data') return;
      if (bytes === 0) await sleep(1_000);
      bytes += frame.bytes.length;
      most = Math.max(most, residentBytes(sandbox.child.pid));
    });
    await connection.closed;
    expect(bytes).toBe(31_457_283);
    expect(most - before).toBeLessThan(60 * MEBIBYTE);
  });

  it('S20: a paste of 1 MB arrives whole, and holds nobody else up while nobody reads it', async () => {
    const sandbox = await runningSandbox();
    const script = 'stty raw -echo; printf ready; sleep 2; head -c 1048576 | sha256sum';
    const connection = await open(sandbox, ['bash', '-c', script], { terminal: TERMINAL });
    const { send, onFrame } = feeder(connection);
    const paste = Buffer.from(randomBytes(MEBIBYTE / 2).toString('hex'));
    let seen = '';
    const result = finished(connection, (frame) => {
      onFrame(frame);
      if (frame.type === 'data') seen += Buffer.from(frame.bytes).toString();
    });
    await until(() => seen.includes('ready'), 'the program');
    const before = residentBytes(sandbox.child.pid);
    const sent = send(paste);
    await sleep(300);
    expect((await runIn(sandbox, ['echo', 'meanwhile'])).stdout.toString()).toBe('meanwhile\n');
    expect(residentBytes(sandbox.child.pid) - before).toBeLessThan(30 * MEBIBYTE);
    expect(await sent).toBe(true);
    expect((await result).stdout.toString()).toContain(sha256(paste));
  });

  it('S14: the loss of the client is SIGHUP, and SIGKILL for who ignores it', async () => {
    const sandbox = await runningSandbox({ times: { hangUpGraceMs: 300 } });
    const file = `${sandbox.roots.runtime}/got`;
    const script = `trap 'echo HUP >${file}; exit' HUP; while :; do sleep 0.1; done`;
    const polite = await openWithPid(sandbox, script, { terminal: TERMINAL });
    polite.connection.destroy();
    await until(() => !isAlive(polite.pid), 'the polite program');
    expect((await runIn(sandbox, ['cat', file])).stdout.toString()).toBe('HUP\n');
    const stubborn = await openWithPid(sandbox, `trap '' HUP; while :; do sleep 0.1; done`, {
      terminal: TERMINAL,
    });
    stubborn.connection.destroy();
    await until(() => !isAlive(stubborn.pid), 'the stubborn program');
  });

  it('S14: no program inherits the other end of another one’s terminal', async () => {
    const sandbox = await runningSandbox();
    const holder = await openWithPid(sandbox, 'exec sleep 60', { terminal: TERMINAL });
    const look = ['sh', '-c', 'readlink /proc/self/fd/* 2>/dev/null; echo "$0 $1"', 'a b', "c'd"];
    const piped = await runIn(sandbox, look);
    expect(piped.stdout.toString()).not.toContain('ptmx');
    expect(piped.stdout.toString()).toContain("a b c'd");
    const inTerminal = await runIn(sandbox, look, { terminal: TERMINAL });
    expect(inTerminal.stdout.toString()).not.toContain('ptmx');
    holder.connection.destroy();
  });

  it('S14: a background process that keeps the terminal open does not keep the client', async () => {
    const sandbox = await runningSandbox();
    const result = await runIn(sandbox, ['bash', '-c', 'trap "" HUP; sleep 3 & printf started'], {
      terminal: TERMINAL,
    });
    expect(result.exited).toEqual({ code: 0, signal: null });
    expect(result.stdout.toString()).toBe('started');
  });
});
