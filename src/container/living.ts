import type { Clock } from '../lib/clock.ts';

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
  private timer: NodeJS.Timeout | undefined;

  constructor(clock: Clock, idleMs: number, onIdle: () => void) {
    this.clock = clock;
    this.idleMs = idleMs;
    this.onIdle = onIdle;
    this.startTimer();
  }

  add(thing: Omit<LivingThing, 'since'>): LivingThing {
    const living = { ...thing, since: this.clock.now().toISOString() };
    this.things.add(living);
    clearTimeout(this.timer);
    return living;
  }

  remove(thing: LivingThing): void {
    if (this.things.delete(thing) && this.things.size === 0) this.startTimer();
  }

  /** A join brings new configuration, and with it perhaps another idle time. */
  setIdle(milliseconds: number): void {
    this.idleMs = milliseconds;
    if (this.things.size === 0) this.startTimer();
  }

  list(): LivingThing[] {
    return [...this.things];
  }

  private startTimer(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.onIdle, this.idleMs);
  }
}
