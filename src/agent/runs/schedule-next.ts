import { UsageError } from '../../lib/errors.ts';
import {
  isScheduleId,
  nextInstants,
  noSchedule,
  RunError,
  type RunsPlace,
  readSchedule,
  type Timing,
} from '../../runs/index.ts';
import { answering } from './answering.ts';
import { type RunContext, runContext } from './context.ts';
import { timeText } from './schedule-json.ts';

export interface NextOptions {
  readonly tz?: string;
  readonly count: number;
  readonly json?: boolean;
}

/** When a schedule is due, or would be. */
export function scheduleNext(what: string, options: NextOptions): Promise<number> {
  return answering(options, async () => {
    const facts = await dueInstants(await runContext(), what, options);
    const text = facts.next.map((instant) => `${timeText(instant, facts.tz)}\n`).join('');
    return { facts, text };
  });
}

/** @throws CronError, UnknownZoneError, UsageError, RunError; FileError */
export async function dueInstants(
  { place, deps }: RunContext,
  what: string,
  options: NextOptions,
): Promise<{ cron: string; tz: string; next: string[] }> {
  const { cron, tz } = await timingOf(place, what, options);
  const instants = await nextInstants({ cron, tz }, deps.clock.now(), options.count);
  return { cron, tz, next: instants.map((instant) => instant.toISOString()) };
}

async function timingOf(place: RunsPlace, what: string, { tz }: NextOptions): Promise<Timing> {
  if (!isScheduleId(what)) return { cron: what, tz: tz ?? 'UTC' };
  const facts = await readSchedule(place, what);
  if (facts.kind === 'none') throw noSchedule(what);
  if (facts.kind !== 'known') throw new RunError('damaged', `schedule ${what} is none of this version`);
  if (tz !== undefined)
    throw new UsageError(`schedule ${what} has a time zone of its own, ${facts.value.tz}`, {
      hint: '--tz goes with an expression',
    });
  return facts.value;
}
