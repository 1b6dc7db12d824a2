import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { pathsOf } from '../../../src/agent-dir/index.ts';
import { SandboxLog } from '../../../src/container/sandbox-log.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { smallDisk } from '../lib/temporary.ts';
import {
  ask,
  finished,
  makeRoots,
  runIn,
  runningSandbox,
  type TestSandbox,
  temporary,
  until,
} from './sandbox.ts';

describe('the log of a sandbox', () => {
  it('S14: it is rotated, one older file is kept, both are private', async () => {
    const log = new SandboxLog(`${temporary()}/logs`, 'box', systemClock, 2_000);
    for (let n = 0; n < 100; n++) log.write('event', { n });
    await log.flush();
    expect(statSync(log.path).size).toBeLessThan(2_200);
    expect(statSync(`${log.path}.1`).size).toBeLessThan(2_200);
    expect(statSync(log.path).mode & 0o777).toBe(0o600);
    expect(readFileSync(log.path, 'utf8')).toContain('"n":99');
  });

  it('S14: a line that a crash tore is closed before the next', async () => {
    const directory = temporary();
    appendFileSync(`${directory}/box.jsonl`, '{"time":"2026');
    const log = new SandboxLog(directory, 'box', systemClock);
    log.write('ended', {});
    await log.flush();
    const lines = readFileSync(log.path, 'utf8').split('\n').filter(Boolean);
    expect(lines).toHaveLength(2);
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({ event: 'ended' });
  });

  it('S14: a full disk drops lines, counts them, and goes on when there is room again', async ({ skip }) => {
    const disk = smallDisk(64);
    if ('skip' in disk) return skip(disk.skip);
    const log = new SandboxLog(`${disk.path}/logs`, 'box', systemClock);
    log.write('first');
    await log.flush();
    try {
      appendFileSync(`${disk.path}/ballast`, Buffer.alloc(200_000));
    } catch {
      // Full, as intended.
    }
    for (let n = 0; n < 200; n++) log.write('lost', { padding: 'x'.repeat(100) });
    await log.flush();
    rmSync(`${disk.path}/ballast`);
    log.write('last');
    await log.flush();
    const last = readFileSync(log.path, 'utf8').trim().split('\n').at(-1) ?? '';
    expect(JSON.parse(last)).toMatchObject({ event: 'last', dropped: expect.any(Number) });
  });

  it('S14: a sandbox whose domain volume is full lives and ends as any other', async ({ skip }) => {
    const disk = smallDisk(256);
    if ('skip' in disk) return skip(disk.skip);
    const base = temporary();
    const sandbox = await runningSandbox({ roots: { ...makeRoots(base), domain: disk.path } });
    try {
      appendFileSync(`${disk.path}/ballast`, Buffer.alloc(2_000_000));
    } catch {
      // Full, as intended.
    }
    for (let n = 0; n < 5; n++) expect((await runIn(sandbox, ['true'])).exited?.code).toBe(0);
    sandbox.child.kill('SIGTERM');
    expect(await sandbox.exit).toBe(0);
  });

  it('S14: a log that is a fifo or a folder never ends a sandbox, nor keeps it', async () => {
    for (const plant of ['mkfifo', 'mkdir']) {
      const roots = makeRoots();
      const { sandboxLogs } = pathsOf(roots);
      mkdirSync(sandboxLogs, { recursive: true });
      execFileSync(plant, [`${sandboxLogs}/box.jsonl`]);
      const sandbox = await runningSandbox({ roots, times: { closeMs: 300 } });
      expect(await ask(await sandbox.join(), LOGS)).toMatchObject({ answer: 'refused' });
      expect((await runIn(sandbox, ['true'])).exited?.code).toBe(0);
      sandbox.child.kill('SIGTERM');
      expect(await sandbox.exit).toBe(0);
    }
  });
});

const LOGS = { verb: 'logs', tail: 10, follow: false } as const;

async function logs(sandbox: TestSandbox, tail: number) {
  const connection = await sandbox.join();
  await ask(connection, { verb: 'logs', tail, follow: false });
  return finished(connection);
}

describe('a request for the log', () => {
  it('S14: the last lines, whole', async () => {
    const sandbox = await runningSandbox();
    for (let n = 0; n < 3; n++) await runIn(sandbox, ['true']);
    const { stdout, exited } = await logs(sandbox, 2);
    const lines = stdout.toString().trim().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines.map((line) => JSON.parse(line).event)).toEqual(['started', 'exited']);
    expect(exited).toEqual({ code: 0, signal: null });
    expect((await logs(sandbox, 0)).stdout.length).toBe(0);
  });

  it('S14: a log that was rotated goes on in front of the current one', async () => {
    const sandbox = await runningSandbox();
    await runIn(sandbox, ['true']);
    // What the supervisor still has to write is written before it answers.
    await logs(sandbox, 1);
    const path = `${pathsOf(sandbox.roots).sandboxLogs}/box.jsonl`;
    execFileSync('mv', [path, `${path}.1`]);
    const older = readFileSync(`${path}.1`, 'utf8').trim().split('\n');
    expect((await logs(sandbox, 1)).stdout.toString().trim()).toBe(older.at(-1));
    appendFileSync(path, '{"n":1}\n{"n":2}\n');
    const told = async (tail: number) => (await logs(sandbox, tail)).stdout.toString().trim().split('\n');
    expect(await told(2)).toEqual(['{"n":1}', '{"n":2}']);
    expect(await told(3)).toEqual([older.at(-1), '{"n":1}', '{"n":2}']);
    expect(await told(1_000)).toEqual([...older, '{"n":1}', '{"n":2}']);
  });

  it('S14: with follow each line comes once, in order, across a rotation', async () => {
    const sandbox = await runningSandbox();
    const connection = await sandbox.join();
    await ask(connection, { verb: 'logs', tail: 0, follow: true });
    let text = '';
    connection.onFrame((frame) => {
      if (frame.type === 'data') text += Buffer.from(frame.bytes).toString();
    });
    const path = `${pathsOf(sandbox.roots).sandboxLogs}/box.jsonl`;
    for (let n = 0; n < 20; n++) {
      // The line before comes too late to be seen in the log's own place.
      if (n === 10) execFileSync('mv', [path, `${path}.1`]);
      appendFileSync(n === 10 ? `${path}.1` : path, `{"n":${n}}\n`);
      if (n % 5 === 4) await until(() => text.includes(`{"n":${n}}\n`), `line ${n}`);
    }
    expect(text).toBe(Array.from({ length: 20 }, (_, n) => `{"n":${n}}\n`).join(''));
    connection.destroy();
    expect((await runIn(sandbox, ['true'])).exited?.code).toBe(0);
  });

  it('S14: a log that was exchanged for a link is not read', async () => {
    const sandbox = await runningSandbox();
    await runIn(sandbox, ['true']);
    const path = `${pathsOf(sandbox.roots).sandboxLogs}/box.jsonl`;
    rmSync(path);
    symlinkSync('/etc/passwd', path);
    const reply = await ask(await sandbox.join(), LOGS);
    expect(reply).toMatchObject({ answer: 'refused', message: expect.stringContaining('it is a link') });
  });
});
