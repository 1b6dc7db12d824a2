/** What a schedule is called: as its user says, or like a run. */
import { UsageError } from '../../lib/errors.ts';

export type ScheduleId = string & { readonly kind: 'ScheduleId' };

const ID = /^[a-z0-9][a-z0-9-]{0,63}$/;

export function isScheduleId(text: string): text is ScheduleId {
  return ID.test(text);
}

/** @throws UsageError */
export function parseScheduleId(text: string): ScheduleId {
  if (isScheduleId(text)) return text;
  throw new UsageError(`${JSON.stringify(text.slice(0, 100))} is no name of a schedule`, {
    hint: 'use 1 to 64 of a-z, 0-9 and "-", not "-" first; multi-agent runs schedule list shows those there are',
  });
}
