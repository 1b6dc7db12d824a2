import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isHeld, tryLock } from '../../../src/lib/kernel-lock.ts';
import { temporaryDirectory } from './temporary.ts';

const LOCK = new URL('../../../src/lib/kernel-lock.ts', import.meta.url).href;

/** Holds the lock of file 3 until its input ends; with `child`, beside a process of its own that lives on. */
const HEIR = `
  import { spawn } from 'node:child_process';
  const { inheritedLock } = await import(${JSON.stringify(LOCK)});
  const lock = inheritedLock(process.argv[1], 3);
  const child = spawn('sleep', ['30'], { stdio: 'ignore', detached: true });
  console.log(child.pid);
  process.stdin.on('end', () => { lock.release(); process.exit(0); }).resume();
`;

async function heir(path: string, fd: number) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', HEIR, '--', path], {
    stdio: ['pipe', 'pipe', 'inherit', fd],
  });
  const { stdin, stdout } = child;
  if (!stdin || !stdout) throw new Error('its pipes are open');
  const [line] = await once(stdout, 'data');
  return { child, stdin, grandchild: Number(String(line)) };
}

describe('a lock that is handed over (J2)', () => {
  it('J2: is held without a gap, by the child alone once the giver has let go of it', async () => {
    const path = join(temporaryDirectory(), 'lock');
    const lock = tryLock(path);
    if (!lock) throw new Error('the lock of a new file is free');
    const { child, stdin, grandchild } = await heir(path, lock.fd);
    try {
      lock.leaveToChild();
      expect(isHeld(path)).toBe(true);
      stdin.end();
      await once(child, 'exit');
      expect(isHeld(path)).toBe(false);
    } finally {
      process.kill(grandchild, 'SIGKILL');
    }
  });

  it('J2: is free when the child is killed, although a process that it started lives on', async () => {
    const path = join(temporaryDirectory(), 'lock');
    const lock = tryLock(path);
    if (!lock) throw new Error('the lock of a new file is free');
    const { child, grandchild } = await heir(path, lock.fd);
    try {
      lock.leaveToChild();
      child.kill('SIGKILL');
      await once(child, 'exit');
      expect(isHeld(path)).toBe(false);
      expect(() => process.kill(grandchild, 0)).not.toThrow();
    } finally {
      process.kill(grandchild, 'SIGKILL');
    }
  });
});
