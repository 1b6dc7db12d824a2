/** `schedule` of the tool (R10): as the command's own. */
import { CATCH_UPS, OVERLAPS, parseScheduleId, RunError, removeSchedule } from '../../../runs/index.ts';
import { keepSchedule } from '../../runs/schedule-add.ts';
import { scheduleRows } from '../../runs/schedule-json.ts';
import { dueInstants } from '../../runs/schedule-next.ts';
import { graphAsked, settingsAsked } from './begin.ts';
import type { TeamCall, TeamReply } from './call.ts';

/** Instants that `next` tells. */
const INSTANTS = 5;

export async function schedule(call: TeamCall): Promise<TeamReply> {
  return { facts: await factsOf(call), command: 'multi-agent runs schedule list --json' };
}

async function factsOf(call: TeamCall): Promise<object> {
  const { here, asked } = call;
  const verb = asked.needed('schedule');
  switch (verb) {
    case 'add':
      return { schedule: await add(call) };
    case 'list':
      return {
        schedules: await scheduleRows(here.place, asked.flag('all_projects') ? undefined : here.jobs.project),
      };
    case 'rm': {
      const scheduleId = parseScheduleId(asked.needed('name'));
      await removeSchedule(here.place, scheduleId);
      return { scheduleId };
    }
    case 'next': {
      const tz = asked.text('tz');
      const what = asked.text('name') ?? asked.needed('cron');
      return dueInstants(here, what, { count: INSTANTS, ...(tz === undefined ? {} : { tz }) });
    }
    default:
      throw new RunError('usage', `"${verb}" is nothing to do with schedules: use add, list, rm or next`);
  }
}

async function add(call: TeamCall) {
  const { here, asked } = call;
  const name = asked.text('name');
  const options = {
    ...settingsAsked(call),
    tz: asked.needed('tz'),
    catchUp: CATCH_UPS.find((known) => known === asked.text('catch_up')) ?? 'none',
    overlap: OVERLAPS.find((known) => known === asked.text('overlap')) ?? 'skip',
    ...(name === undefined ? {} : { name }),
  };
  return keepSchedule(here, await graphAsked(call), asked.needed('cron'), options);
}
