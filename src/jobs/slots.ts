/**
 * How many jobs of one project run at once (J8). A slot is a kernel lock, so a killed runner gives its own back. Depths
 * have slots of their own: a child never waits for its parent's.
 *
 * Who finds none free takes a ticket, which is a file that it holds locked, and waits in the order of the tickets. Kernel locks can
 * only be tried, so whoever gives a slot back, or leaves the queue, touches a file in the queue's directory, and those
 * that wait watch that. A killed runner touches nothing: for its sake each looks again every two seconds, the first in
 * the queue at the slots, the others at the one before them.
 */
import { type FSWatcher, readdirSync, renameSync, unlinkSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeStateDirectory } from '../lib/atomic-file.ts';
import type { Clock } from '../lib/clock.ts';
import { OperationError, UsageError } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import { type FileLock, isHeld, tryLock } from '../lib/kernel-lock.ts';

export const MAX_RUNNING_VARIABLE = 'MULTI_AGENT_MAX_RUNNING';
const DEFAULT_RUNNING = 8;
const MOST_RUNNING = 1_000;
const QUEUE = 'queue';
/** Touched when somebody may go on. */
const BELL = 'bell';
const TICKET = /^\d{15}-[0-9a-f]+\.ticket$/;
const LOOK_AGAIN_MS = 2_000;

export interface Slot {
  /** Gives it to the next. */
  release(): void;
}

export interface SlotOptions {
  readonly most: number;
  readonly clock: Clock;
  /** A random name. */
  readonly ids: () => string;
  /** Told the place in the queue, 1 for the next, whenever it changes. */
  onPosition?(position: number): void;
  readonly signal: AbortSignal;
}

/** `MULTI_AGENT_MAX_RUNNING`, or 8. @throws UsageError */
export function mostRunning(env: NodeJS.ProcessEnv): number {
  const text = env[MAX_RUNNING_VARIABLE];
  if (text === undefined || text === '') return DEFAULT_RUNNING;
  const most = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (most >= 1 && most <= MOST_RUNNING) return most;
  throw new UsageError(`${MAX_RUNNING_VARIABLE}=${JSON.stringify(text.slice(0, 100))} is no number of jobs`, {
    hint: `use 1 to ${MOST_RUNNING}`,
  });
}

/**
 * A slot, as soon as one is free and nobody waits before.
 *
 * @param directory of the project's slots at this depth
 * @throws FileError; the signal's reason when it is aborted before
 */
export async function takeSlot(directory: string, options: SlotOptions): Promise<Slot> {
  const queue = join(directory, QUEUE);
  await makeStateDirectory(queue);
  options.signal.throwIfAborted();
  const free = waiting(queue).length === 0 ? tryAny(directory, options.most) : undefined;
  if (free) return slotOf(free, queue);
  const ticket = drawTicket(queue, options);
  const bell = listen(queue);
  try {
    return slotOf(await waitInLine(directory, ticket.name, bell, options), queue);
  } finally {
    bell.close();
    // Its name is nobody else's ever, so that unlike other lock files it may go.
    unlinkSync(join(queue, ticket.name));
    ticket.lock.release();
    ring(queue);
  }
}

function slotOf(lock: FileLock, queue: string): Slot {
  return {
    release() {
      lock.release();
      ring(queue);
    },
  };
}

async function waitInLine(
  directory: string,
  own: string,
  bell: Bell,
  options: SlotOptions,
): Promise<FileLock> {
  const queue = join(directory, QUEUE);
  let told: number | undefined;
  let before: string | undefined;
  for (let rung = true; ; rung = await bell.rings(options)) {
    // Only to see whether a killed one was before, it is enough to look at that one.
    if (!rung && before !== undefined && isHeld(join(queue, before))) continue;
    const line = waiting(queue);
    const place = line.indexOf(own);
    if (place === -1) throw new OperationError(`${join(queue, own)} was removed while a job waited with it`);
    before = line[place - 1];
    const slot = place === 0 ? tryAny(directory, options.most) : undefined;
    if (slot) return slot;
    if (told !== place + 1) options.onPosition?.(place + 1);
    told = place + 1;
  }
}

function tryAny(directory: string, most: number): FileLock | undefined {
  for (let number = 0; number < most; number++) {
    const lock = tryLock(join(directory, String(number)));
    if (lock) return lock;
  }
  return undefined;
}

/** Tickets that somebody waits with, in their order; those of killed runners are thrown away. */
function waiting(queue: string): string[] {
  const tickets = readdirSync(queue)
    .filter((name) => TICKET.test(name))
    .sort();
  return tickets.filter((name) => {
    const path = join(queue, name);
    if (isWaitedWith(path)) return true;
    try {
      unlinkSync(path);
    } catch {
      // Another one was faster.
    }
    return false;
  });
}

/** A link or a directory is no ticket, whoever put it there (rule 8). @throws FileError what the system refuses */
function isWaitedWith(path: string): boolean {
  try {
    return isHeld(path);
  } catch (error) {
    if (error instanceof FileError && error.code === undefined) return false;
    throw error;
  }
}

/** Locked before it has its name: a ticket that nobody holds is a dead one's. */
function drawTicket(queue: string, { clock, ids }: SlotOptions): { name: string; lock: FileLock } {
  const id = ids();
  const unnamed = join(queue, `${id}.new`);
  const name = `${String(clock.now().getTime()).padStart(15, '0')}-${id}.ticket`;
  const lock = tryLock(unnamed);
  if (!lock) throw new OperationError(`${unnamed} is taken, though its name is new`);
  try {
    renameSync(unnamed, join(queue, name));
  } catch (error) {
    lock.release();
    throw new FileError('rename', unnamed, error);
  }
  return { name, lock };
}

function ring(queue: string): void {
  try {
    writeFileSync(join(queue, BELL), '', { mode: 0o600 });
  } catch {
    // Those that wait look again by themselves.
  }
}

interface Bell {
  /** True when it has rung since the last time, false when it was waited for long enough. */
  rings(options: Pick<SlotOptions, 'clock' | 'signal'>): Promise<boolean>;
  close(): void;
}

function listen(queue: string): Bell {
  let rung = false;
  let wake = (): void => {};
  const hear = (): void => {
    rung = true;
    wake();
  };
  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(queue, { persistent: false }, hear);
    // A system without watches left: looking again has to do.
    watcher.on('error', () => {});
  } catch {
    // As above.
  }
  return {
    async rings({ clock, signal }) {
      if (!rung) {
        const over = new AbortController();
        const heard = new Promise<void>((resolve) => {
          wake = resolve;
        });
        const either = AbortSignal.any([signal, over.signal]);
        const late = clock.sleep(LOOK_AGAIN_MS, either);
        try {
          await Promise.race([heard, late]);
        } finally {
          over.abort();
          late.catch(() => {});
        }
      }
      signal.throwIfAborted();
      const answer = rung;
      rung = false;
      return answer;
    },
    close: () => watcher?.close(),
  };
}
