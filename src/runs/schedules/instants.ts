/**
 * When a schedule is due (R10), as cron on Debian does it where the clock changes; docs/schedules.md has the table.
 *
 * - Fixed times that the clock skips come once, at the moment that it is set forward.
 * - Fixed times that it repeats come the first time only.
 * - Intervals (`*` first in minute or hour) go by what the clock shows: nothing for what is skipped, both for what is
 *   repeated.
 */
import { type Cron, CronError, parseCron } from './cron.ts';
import { type Zone, zoneOf } from './zone-time.ts';

export interface Timing {
  /** Five fields, or `@daily` and the like. */
  readonly cron: string;
  /** IANA name. */
  readonly tz: string;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** 29 February may be 8 years away. */
const FARTHEST_MS = 9 * 366 * DAY_MS;
/** Nearer ones first, so that a schedule of every minute is not counted through for years. */
const LOOKS_BACK_MS = [10 * MINUTE_MS, DAY_MS, 32 * DAY_MS, 400 * DAY_MS, FARTHEST_MS];

/**
 * The next instants after one, at most `count`; fewer where there are no more within nine years.
 *
 * @throws CronError, UnknownZoneError
 */
export async function nextInstants(timing: Timing, from: Date, count: number): Promise<Date[]> {
  const found: Date[] = [];
  if (count <= 0) return found;
  for (const instant of instantsAfter(await understood(timing), from.getTime())) {
    if (instant > from.getTime() + FARTHEST_MS * count) break;
    found.push(new Date(instant));
    if (found.length === count) break;
  }
  return found;
}

/** The last instant after one and not after another. @throws CronError, UnknownZoneError */
export async function latestInstant(timing: Timing, after: Date, until: Date): Promise<Date | undefined> {
  const understoodTiming = await understood(timing);
  for (const back of LOOKS_BACK_MS) {
    const from = Math.max(after.getTime(), until.getTime() - back);
    let latest: number | undefined;
    for (const instant of instantsAfter(understoodTiming, from)) {
      if (instant > until.getTime()) break;
      latest = instant;
    }
    if (latest !== undefined) return new Date(latest);
    if (from === after.getTime()) return undefined;
  }
  return undefined;
}

/** @throws CronError for what never comes either; UnknownZoneError */
export async function checkTiming(timing: Timing, now: Date): Promise<void> {
  const [first] = await nextInstants(timing, now, 1);
  if (first === undefined) throw new CronError(timing.cron, 'there is no such day within nine years');
}

interface Understood {
  readonly cron: Cron;
  readonly zone: Zone;
}

async function understood({ cron, tz }: Timing): Promise<Understood> {
  const zone = zoneOf(tz);
  return { cron: await parseCron(cron), zone };
}

/** In order, each once. An instant is given out when no later wall time can come before it. */
function* instantsAfter({ cron, zone }: Understood, from: number): Generator<number, void, undefined> {
  // What the clock skips comes later than it says, and what it repeats comes again.
  const start = zone.wallAt(from) - zone.changeNear(from) - MINUTE_MS;
  let open: number[] = [];
  let last = from;
  const give = function* (before: number) {
    open.sort((a, b) => a - b);
    for (const instant of open.filter((each) => each < before)) {
      if (instant > last) yield instant;
      last = Math.max(last, instant);
    }
    open = open.filter((each) => each >= before);
  };
  for (const wall of cron.after(start)) {
    const time = zone.instantOf(wall);
    yield* give(time.instant);
    if (cron.interval && time.kind === 'skipped') continue;
    open.push(time.instant);
    if (cron.interval && time.kind === 'twice') open.push(time.again);
  }
  yield* give(Number.POSITIVE_INFINITY);
}
