import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/lib/clock.ts';
import { FileError } from '../../../src/lib/file-error.ts';
import { isHeld, LockTakenError, takeLock, tryLock } from '../../../src/lib/kernel-lock.ts';
import { readLockRecord } from '../../../src/lib/lock-record.ts';
import { startChild } from './child.ts';
import { smallDisk, temporaryDirectory } from './temporary.ts';

const RECORD = { pid: 7, host: 'acme', startedAt: '2026-01-01T00:00:00.000Z', what: 'session 1f3a' };

function lockFile(): string {
  return join(temporaryDirectory(), 'session.lock');
}

/** Time that passes only by sleeping. */
function stoppedClock(): Clock & { slept: number } {
  const clock = {
    slept: 0,
    now: () => new Date(0),
    monotonic: () => clock.slept,
    sleep: async (milliseconds: number) => {
      clock.slept += milliseconds;
    },
  };
  return clock;
}

describe('a kernel lock', () => {
  it('rule 1: excludes a second taker, also in the same process, until it is released', () => {
    const path = lockFile();
    const lock = tryLock(path);
    expect(lock).toBeDefined();
    expect(tryLock(path)).toBeUndefined();
    expect(isHeld(path)).toBe(true);
    lock?.release();
    lock?.release();
    expect(isHeld(path)).toBe(false);
    expect(existsSync(path)).toBe(true);
    tryLock(path)?.release();
  });

  it('rule 2: its file is 0600 whatever the umask', async () => {
    const path = lockFile();
    const child = startChild(
      `process.umask(0o777);
       const { tryLock } = await import(lib('kernel-lock.ts'));
       tryLock(process.argv[1]);`,
      path,
    );
    expect(await child.exit).toBe(0);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('rule 1: a probe makes no file, and a missing one is not held', () => {
    const path = lockFile();
    expect(isHeld(path)).toBe(false);
    expect(existsSync(path)).toBe(false);
  });

  it('rule 1: a taker waits 250 ms and then says who holds it', async () => {
    const path = lockFile();
    const lock = tryLock(path, { record: RECORD });
    const clock = stoppedClock();
    const failure = await takeLock(path, { clock }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(LockTakenError);
    expect(failure).toMatchObject({ path, record: RECORD, message: expect.stringContaining('session 1f3a') });
    expect(clock.slept).toBe(250);
    lock?.release();
    (await takeLock(path, { clock })).release();
  });

  it('rule 1: what stands in the file decides nothing and cannot harm a terminal', async () => {
    const path = lockFile();
    for (const content of [
      'garbage',
      '',
      `{"pid":"x"}`,
      `${JSON.stringify({ ...RECORD, pid: process.pid })}\n`,
    ]) {
      writeFileSync(path, content);
      expect(isHeld(path)).toBe(false);
      tryLock(path)?.release();
      expect(readFileSync(path, 'utf8')).toBe('');
    }
    const lock = tryLock(path, { record: { ...RECORD, what: '\u001b]0;owned\u0007job' } });
    await expect(takeLock(path, { waitMs: 0 })).rejects.toThrow(/by \ufffdjob/);
    lock?.release();
    expect(readLockRecord(path)?.what).toContain('job');
  });

  it('rule 8: links, fifos and directories in its place are refused', async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'elsewhere'), '');
    symlinkSync('elsewhere', join(directory, 'link'));
    mkdirSync(join(directory, 'directory'));
    for (const name of ['link', 'directory']) {
      expect(() => tryLock(join(directory, name))).toThrow(FileError);
      expect(() => isHeld(join(directory, name))).toThrow(FileError);
    }
    expect(() => tryLock(join(directory, 'missing/lock'))).toThrow(FileError);
  });

  it('rule 8: a lock file that is a hard link to another is held, and nothing is written into it', () => {
    const path = lockFile();
    const other = `${path}.other`;
    writeFileSync(other, 'precious', { mode: 0o644 });
    linkSync(other, path);
    const lock = tryLock(path, { record: RECORD });
    expect(isHeld(path)).toBe(true);
    lock?.release();
    expect(readFileSync(other, 'utf8')).toBe('precious');
    expect(statSync(other).mode & 0o777).toBe(0o644);
  });

  it('rule 1: a deleted lock file does not make two holders of one name', () => {
    const path = lockFile();
    const first = tryLock(path);
    unlinkSync(path);
    const second = tryLock(path);
    expect(second).toBeDefined();
    expect(tryLock(path)).toBeUndefined();
    first?.release();
    expect(isHeld(path)).toBe(true);
    second?.release();
  });

  it('rule 1: takers that opened the file just before it was deleted go on to its successor', async () => {
    const directory = temporaryDirectory();
    const code = `import { unlinkSync, writeFileSync } from 'node:fs';
      const { takeLock } = await import(lib('kernel-lock.ts'));
      const [path, inside] = process.argv.slice(1);
      for (let i = 0; i < 60; i++) {
        const lock = await takeLock(path, { waitMs: 15_000 });
        writeFileSync(inside, '', { flag: 'wx' });
        if (i % 3 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
        unlinkSync(inside);
        unlinkSync(path);
        lock.release();
      }`;
    const children = Array.from({ length: 3 }, () =>
      startChild(code, join(directory, 'lock'), join(directory, 'inside')),
    );
    expect(await Promise.all(children.map((child) => child.exit))).toEqual([0, 0, 0]);
  });

  it('rule 1: is taken although the disk is full', (context) => {
    const disk = smallDisk(16);
    if ('skip' in disk) return context.skip(disk.skip);
    const path = join(disk.path, 'lock');
    writeFileSync(path, '');
    try {
      writeFileSync(join(disk.path, 'ballast'), Buffer.alloc(64 * 1024));
    } catch {}
    const lock = tryLock(path, { record: RECORD });
    expect(lock).toBeDefined();
    expect(isHeld(path)).toBe(true);
    lock?.release();
  });

  it('rule 1: SIGKILL of the holder frees it, although a child of the holder lives on', async () => {
    const path = lockFile();
    const holder = startChild(
      `import { spawn } from 'node:child_process';
       const { tryLock } = await import(lib('kernel-lock.ts'));
       if (!tryLock(process.argv[1])) process.exit(9);
       const child = spawn('sleep', ['30'], { stdio: 'ignore', detached: true });
       console.log(child.pid);
       setInterval(() => {}, 1000);`,
      path,
    );
    const grandchild = Number(await holder.line());
    expect(isHeld(path)).toBe(true);
    expect(tryLock(path)).toBeUndefined();
    holder.process.kill('SIGKILL');
    await holder.exit;
    try {
      process.kill(grandchild, 0);
      expect(isHeld(path)).toBe(false);
      tryLock(path)?.release();
    } finally {
      process.kill(grandchild, 'SIGKILL');
    }
  });

  it('rule 1: many takers and probers in several processes: one at a time, and none is told "taken" by a probe', async () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'lock');
    const counter = join(directory, 'counter');
    writeFileSync(counter, '0');
    const children = Array.from({ length: 3 }, () =>
      startChild(
        `import { readFileSync, writeFileSync } from 'node:fs';
         const { takeLock } = await import(lib('kernel-lock.ts'));
         for (let i = 0; i < 40; i++) {
           const lock = await takeLock(process.argv[1], { waitMs: 15_000 });
           const count = Number(readFileSync(process.argv[2], 'utf8'));
           if (i % 4 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
           writeFileSync(process.argv[2], String(count + 1));
           lock.release();
         }`,
        path,
        counter,
      ),
    );
    let running = true;
    const exits = Promise.all(children.map((child) => child.exit)).finally(() => {
      running = false;
    });
    while (running) {
      isHeld(path);
      await sleep(0);
    }
    expect(await exits).toEqual([0, 0, 0]);
    expect(readFileSync(counter, 'utf8')).toBe('120');
  });

  it('rule 1: an uncontended taker succeeds at once under a storm of probes', async () => {
    const path = lockFile();
    tryLock(path)?.release();
    const prober = startChild(
      `const { isHeld } = await import(lib('kernel-lock.ts'));
       console.log('probing');
       for (;;) isHeld(process.argv[1]);`,
      path,
    );
    await prober.line();
    try {
      for (let round = 0; round < 200; round++) (await takeLock(path)).release();
    } finally {
      prober.process.kill('SIGKILL');
      await prober.exit;
    }
  });
});
