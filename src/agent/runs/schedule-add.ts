import { resolve } from 'node:path';
import { placeBelow } from '../../jobs/index.ts';
import {
  addSchedule,
  type CatchUp,
  type Graph,
  type Overlap,
  parseScheduleId,
  startScheduler,
} from '../../runs/index.ts';
import { beside } from '../jobs/context.ts';
import { answering } from './answering.ts';
import { type RunContext, runContext } from './context.ts';
import { readGraph } from './graph-file.ts';
import { type ScheduleFacts, scheduleFacts, timeText } from './schedule-json.ts';
import { type SettingOptions, settingsOf } from './settings.ts';

export interface AddOptions extends SettingOptions {
  readonly tz: string;
  readonly name?: string;
  readonly catchUp: CatchUp;
  readonly overlap: Overlap;
  readonly cwd?: string;
  readonly json?: boolean;
}

/** Keeps a graph to be started by the clock, and sees to it that something watches (R10). */
export function scheduleAdd(cron: string, source: string | undefined, options: AddOptions): Promise<number> {
  return answering(options, async () => {
    const graph = await readGraph(source ?? '-', options.maxSteps);
    const facts = await keepSchedule(await runContext(), graph, cron, options);
    return {
      facts: { schedule: facts },
      text: `schedule: ${facts.scheduleId}\nnext: ${timeText(facts.next, facts.tz)}\n`,
    };
  });
}

/** @throws CronError, UnknownZoneError, UsageError, RunError `limit`, SchedulerStartError, FileError */
export async function keepSchedule(
  { jobs, place, deps }: RunContext,
  graph: Graph,
  cron: string,
  options: AddOptions,
): Promise<ScheduleFacts> {
  const name = options.name === undefined ? undefined : parseScheduleId(options.name);
  const request = {
    graph,
    project: jobs.project,
    cwd: resolve(jobs.directory, options.cwd ?? '.'),
    below: placeBelow(jobs.caller, jobs.env, undefined),
    settings: settingsOf(options),
  };
  const { tz, catchUp, overlap } = options;
  const domain = jobs.env.PI_SANDBOX_DOMAIN ?? null;
  const schedule = await addSchedule(place, { cron, tz, name, catchUp, overlap, domain, request }, deps);
  await startScheduler(place, schedule.realProject, {
    env: jobs.env,
    scheduler: { command: process.execPath, args: [beside('multi-agent-scheduler.mjs')] },
  });
  return scheduleFacts(place, schedule);
}
