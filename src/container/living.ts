import type { Clock } from '../lib/clock.ts';

/** The longest time a timer can be set to; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Something for whose sake the container runs: a client's program, or a process that announced itself (S14). */
export interface LivingThing {
  kind: 'client' | 'session' | 'job' | 'run' | 'daemon';
  id: string;
  name?: string;
  pid?: number;
  /** ISO 8601, UTC. */
  since: string;
}

/**
 * Knows what lives in the container, and calls `onIdle` once nothing has for the given time. The two are one
 * decision in one thread, so a request is either counted before the end begins or told that it has begun.
 */
export class Living {
  private readonly things = new Set<LivingThing>();
  private readonly clock: Clock;
  private readonly onIdle: () => void;
  private idleMs: number;
  private waiting: AbortController | undefined;
  private ends = false;

  constructor(clock: Clock, idleMs: number, onIdle: () => void) {
    this.clock = clock;
    this.idleMs = idleMs;
    this.onIdle = onIdle;
    this.startTimer();
  }

  add(thing: Omit<LivingThing, 'since'>): LivingThing {
    const living = { ...thing, since: this.clock.now().toISOString() };
    this.things.add(living);
    this.waiting?.abort();
    return living;
  }

  remove(thing: LivingThing): void {
    if (this.things.delete(thing) && this.things.size === 0) this.startTimer();
  }

  /** A join brings new configuration, and with it perhaps another idle time. */
  setIdle(milliseconds: number): void {
    if (this.ends) return;
    this.idleMs = milliseconds;
    if (this.things.size === 0) this.startTimer();
  }

  /** From now on the moment in which nothing lives is the end, whatever configuration still comes (S15). */
  endWhenIdle(): void {
    this.setIdle(0);
    this.ends = true;
  }

  list(): LivingThing[] {
    return [...this.things];
  }

  private startTimer(): void {
    this.waiting?.abort();
    const waiting = new AbortController();
    this.waiting = waiting;
    void this.waitIdle(waiting.signal);
  }

  /** By the monotonic clock, in steps that a timer can wait for: a year of idling is allowed. */
  private async waitIdle(signal: AbortSignal): Promise<void> {
    const deadline = this.clock.monotonic() + this.idleMs;
    try {
      for (let left = this.idleMs; left > 0; left = deadline - this.clock.monotonic()) {
        await this.clock.sleep(Math.min(left, LONGEST_TIMER_MS), signal);
      }
    } catch {
      return;
    }
    // Something may have come to live in the very moment the time was over.
    if (!signal.aborted && this.things.size === 0) this.onIdle();
  }
}
