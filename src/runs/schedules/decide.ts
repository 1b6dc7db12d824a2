/** What is to be done about a schedule now (R10). Pure: instants, runs and time are its caller's. */
import type { Schedule } from './schedule.ts';

/** A firing that comes so late was missed: nobody watched when it was due. */
export const LATE_MS = 60_000;
/** Further ahead than the clock, and it was the clock that was wrong when this was written. */
const CLOCK_ERROR_MS = 48 * 60 * 60_000;

export interface Now {
  readonly now: Date;
  /** The last one after `lastInstant` and not after now. */
  readonly latest: Date | undefined;
  /** The run before still goes on. */
  readonly goesOn: boolean;
}

export type Decision =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'start' | 'queue'; readonly instant: Date }
  | {
      readonly kind: 'pass-over';
      readonly instant: Date;
      readonly what: 'skipped' | 'missed';
      readonly reason: string;
    };

export function decide(
  { queued, catchUp, overlap, lastStarted }: Pick<Schedule, 'queued' | 'catchUp' | 'overlap' | 'lastStarted'>,
  { now, latest, goesOn }: Now,
): Decision {
  if (queued !== null && !goesOn) return { kind: 'start', instant: new Date(queued) };
  if (latest === undefined || latest.getTime() <= timeOf(lastStarted)) return { kind: 'nothing' };
  const passOver = (what: 'skipped' | 'missed', reason: string): Decision => {
    return { kind: 'pass-over', instant: latest, what, reason };
  };
  if (catchUp === 'none' && now.getTime() - latest.getTime() > LATE_MS)
    return passOver('missed', 'nothing watched the schedule then');
  if (!goesOn) return { kind: 'start', instant: latest };
  if (overlap === 'skip') return passOver('skipped', 'the run before still went on');
  if (queued !== null) return passOver('skipped', 'another one waits already for the end of the run before');
  return { kind: 'queue', instant: latest };
}

/**
 * Where to look on from after the clock has been set back: from now, but never again at what was started. A clock that was
 * days ahead counts as wrong altogether, or the schedule would rest until then.
 */
export function settled(
  { lastInstant, lastStarted }: Pick<Schedule, 'lastInstant' | 'lastStarted'>,
  now: Date,
): Pick<Schedule, 'lastInstant' | 'lastStarted'> {
  if (timeOf(lastInstant) <= now.getTime()) return { lastInstant, lastStarted };
  const started = timeOf(lastStarted) > now.getTime() + CLOCK_ERROR_MS ? null : lastStarted;
  return { lastInstant: later(now.toISOString(), started), lastStarted: started };
}

/** The later one of two times as they are kept. */
export function later(time: string, other: string | null): string {
  return other !== null && timeOf(other) > timeOf(time) ? other : time;
}

function timeOf(instant: string | null): number {
  return instant === null ? Number.NEGATIVE_INFINITY : Date.parse(instant);
}
