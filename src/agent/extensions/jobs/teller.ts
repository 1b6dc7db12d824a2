/** Tells a Session of the ends of its jobs (J12), and finds those that a shell of it has started. */
import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type JobView,
  jobEnd,
  jobsDirectory,
  listJobs,
  markNotified,
  RECORD_FILE,
  readJob,
} from '../../../jobs/index.ts';
import type { Clock } from '../../../lib/clock.ts';
import { PiSandboxError } from '../../../lib/errors.ts';
import type { SessionEntry } from '../../../pi/index.ts';
import { openTelling, type Telling, type TellingNeeds } from '../telling.ts';
import { endText } from './answers.ts';
import type { JobsHere } from './here.ts';
import { endKey, MESSAGE_TYPE, recallTold, type Told } from './told.ts';

export interface Teller extends Telling<JobView> {
  readonly told: Told;
  /** Looks for jobs that a shell of this Session has started. Costs one look at a directory where there are none. */
  look(): Promise<void>;
}

export interface TellerNeeds extends Omit<TellingNeeds, 'told'> {
  readonly here: JobsHere;
  readonly clock: Clock;
  /** Of the Session, as it is now. */
  readonly entries: readonly SessionEntry[];
}

export function openTeller({ here, clock, entries, ...needs }: TellerNeeds): Teller {
  const told = recallTold(entries);
  const telling = openTelling<JobView>(
    {
      messageType: MESSAGE_TYPE,
      what: 'a background job',
      end: (directory, signal) => jobEnd(here.place, directory, { clock, signal }),
      key: endKey,
      text: endText,
      isNoted: ({ record }) => record.notifiedAt !== null,
      note: (job) => markNotified(job, clock),
    },
    { ...needs, told },
  );
  /** Jobs that were looked at, and when their records were written; undefined before the first look, which is at all. */
  let known: Map<string, number> | undefined;
  let seenAt: number | undefined;

  async function look(): Promise<void> {
    const changedAt = changeTime(here);
    if (changedAt === undefined || changedAt === seenAt) return;
    seenAt = changedAt;
    const directory = jobsDirectory(here.place, here.caller.project.folder);
    const before = known;
    known = await writingTimes(directory);
    if (before === undefined) {
      const { jobs } = await listJobs(here.place, here.caller.project);
      for (const job of jobs) if (isMine(job)) telling.follow(job.directory);
      return;
    }
    for (const [name, time] of known) if (before.get(name) !== time) await meet(join(directory, name));
  }

  function isMine({ record }: JobView): boolean {
    return record.startedBySession === here.caller.session && record.notifiedAt === null;
  }

  async function meet(directory: string): Promise<void> {
    try {
      if (isMine(await readJob(directory))) telling.follow(directory);
    } catch (error) {
      // One that is broken, or gone again, is for `multi-agent list` to show.
      if (!(error instanceof PiSandboxError)) throw error;
    }
  }

  return { ...telling, told, look };
}

/** When the record of each job was written: a start or a resume does that. */
async function writingTimes(directory: string): Promise<Map<string, number>> {
  const names = (await readdir(directory)).filter((name) => !name.startsWith('.'));
  const times = names.map((name): [string, number] => {
    const record = statSync(join(directory, name, RECORD_FILE), { throwIfNoEntry: false });
    return [name, record?.mtimeMs ?? 0];
  });
  return new Map(times);
}

/** Of the project's directory of jobs, which every start and resume changes; undefined where there is none. */
function changeTime({ place, caller }: JobsHere): number | undefined {
  return statSync(jobsDirectory(place, caller.project.folder), { throwIfNoEntry: false })?.mtimeMs;
}
