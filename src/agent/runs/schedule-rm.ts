import { parseScheduleId, removeSchedule } from '../../runs/index.ts';
import { answering } from './answering.ts';
import { runContext } from './context.ts';

/** Its runs go on; what watched it ends by itself. */
export function scheduleRm(name: string, options: { json?: boolean }): Promise<number> {
  return answering(options, async () => {
    const { place } = await runContext();
    const scheduleId = parseScheduleId(name);
    await removeSchedule(place, scheduleId);
    return { facts: { scheduleId }, text: `removed: ${scheduleId}\n` };
  });
}
