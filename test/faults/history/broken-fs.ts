/**
 * Loaded into a child process before the code under test: counts every call to the file system, and at one of them
 * kills the process, tears the write, or lets the call fail. So a fault lands between any two steps, also between
 * those that chance alone would seldom part, and the same one can be had again.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod/mini';

/** `after`: the call has been done, and nothing of what follows it. `torn`: only a first part of a write was done. */
export const FaultPlan = z.object({
  /** The number of the call that is hit, from 1; 0 only counts. */
  at: z.int(),
  /** Calls that change something, or all. */
  of: z.enum(['changes', 'all']),
  fault: z.enum(['kill', 'kill-after', 'kill-torn', 'EIO', 'ENOSPC', 'EACCES']),
});
export type FaultPlan = z.infer<typeof FaultPlan>;

const CHANGES = [
  ...[
    'appendFile',
    'chmod',
    'chown',
    'copyFile',
    'cp',
    'fchmod',
    'fchown',
    'fdatasync',
    'fsync',
    'ftruncate',
  ],
  ...['futimes', 'lchown', 'link', 'lutimes', 'mkdir', 'mkdtemp', 'rename', 'rm', 'rmdir', 'symlink'],
  ...['truncate', 'unlink', 'utimes', 'write', 'writeFile', 'writev', 'open'],
];
const READS = [
  ...['access', 'exists', 'fstat', 'lstat', 'opendir', 'read', 'readFile', 'readdir', 'readlink', 'realpath'],
  ...['stat', 'statfs'],
];
/** Of an open file; the rest of its methods are built on these or have a name of their own above. */
const HANDLE_CHANGES = [
  ...[
    'appendFile',
    'chmod',
    'chown',
    'datasync',
    'sync',
    'truncate',
    'utimes',
    'write',
    'writeFile',
    'writev',
  ],
];
const HANDLE_READS = ['read', 'readFile', 'stat', 'readv', 'close'];
const WRITES = new Set(['write', 'writeFile', 'appendFile']);

type Call = (...parameters: unknown[]) => unknown;

let calls = 0;

/** How many calls there were so far. */
export function callsSoFar(): number {
  return calls;
}

export async function breakFileSystem(input: unknown): Promise<void> {
  const plan = z.parse(FaultPlan, input);
  // Before anything is counted.
  const probe = join(tmpdir(), `.probe-${process.pid}`);
  const handle = await fs.promises.open(probe, 'w');
  const methods: unknown = Object.getPrototypeOf(handle);
  await handle.close();
  fs.unlinkSync(probe);
  const names = plan.of === 'changes' ? CHANGES : [...CHANGES, ...READS];
  for (const name of names) {
    wrap(fs, `${name}Sync`, name, plan, (fail) => {
      throw fail;
    });
    wrap(fs.promises, name, name, plan, (fail) => Promise.reject(fail));
  }
  const handleNames = plan.of === 'changes' ? HANDLE_CHANGES : [...HANDLE_CHANGES, ...HANDLE_READS];
  for (const name of handleNames) wrap(methods, name, name, plan, (fail) => Promise.reject(fail));
  syncBuiltinESMExports();
  calls = 0;
}

function wrap(
  of: unknown,
  key: string,
  name: string,
  plan: FaultPlan,
  fail: (error: Error) => unknown,
): void {
  if (typeof of !== 'object' || of === null) return;
  const original: unknown = Reflect.get(of, key);
  if (typeof original !== 'function') return;
  const call: Call = function (this: unknown, ...parameters: unknown[]): unknown {
    // Opening to read changes nothing.
    if (plan.of === 'changes' && name === 'open' && opensToRead(parameters[1]))
      return Reflect.apply(original, this, parameters);
    calls++;
    if (calls !== plan.at) return Reflect.apply(original, this, parameters);
    if (plan.fault === 'kill') return die();
    if (plan.fault === 'kill-after' || plan.fault === 'kill-torn') {
      const done = Reflect.apply(
        original,
        this,
        plan.fault === 'kill-torn' ? torn(name, parameters) : parameters,
      );
      return done instanceof Promise ? done.then(die, die) : die();
    }
    const { fault } = plan;
    return fail(
      Object.assign(new Error(`${fault}: made by the fault run, ${name}`), { code: fault, syscall: name }),
    );
  };
  Reflect.set(of, key, call);
}

function opensToRead(flags: unknown): boolean {
  if (flags === undefined || flags === 'r' || flags === 'rs') return true;
  const { O_ACCMODE = 3, O_RDONLY, O_CREAT } = { ...fs.constants, O_ACCMODE: 3 };
  return typeof flags === 'number' && (flags & O_ACCMODE) === O_RDONLY && (flags & O_CREAT) === 0;
}

/** Half of what is written, where the data is the first or second parameter. */
function torn(name: string, parameters: readonly unknown[]): unknown[] {
  if (!WRITES.has(name)) return [...parameters];
  let done = false;
  return parameters.flatMap((value, index): unknown[] => {
    if (done || index > 1 || !(typeof value === 'string' || value instanceof Uint8Array))
      return done ? [] : [value];
    // Of two strings the first is a path.
    if (index === 0 && typeof parameters[1] === 'string') return [value];
    if (index === 0 && parameters[1] instanceof Uint8Array) return [value];
    done = true;
    return [value.slice(0, Math.floor(value.length / 2))];
  });
}

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  // The kernel ends this thread before it can go on; others of the process must not either.
  for (;;);
}
