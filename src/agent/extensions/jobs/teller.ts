/**
 * Tells the Session that started a job of its end, once, when nothing of the model's is interrupted by it (J12). Jobs that
 * ended while this Session was closed are told when it is opened again.
 */

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
import { messageOf, PiSandboxError } from '../../../lib/errors.ts';
import type { ExtensionApi, SessionEntry } from '../../../pi/index.ts';
import { endText } from './answers.ts';
import type { JobsHere } from './here.ts';
import { endKey, MESSAGE_TYPE, recallTold, type Told, type ToldDetails } from './told.ts';

export interface Teller {
  readonly told: Told;
  /** Follows a job of this Session to its end. */
  follow(directory: string): void;
  /** Looks for jobs that a shell of this Session has started. Costs one look at a directory where there are none. */
  look(): Promise<void>;
  /** The tool tells the end of these jobs itself; the returned function gives them back. */
  leaveToTool(directories: readonly string[]): () => void;
  /** The tool tells it. */
  wasTold(job: JobView): void;
  /** A turn has ended: what is told in these entries is written down as told. */
  settled(entries: readonly SessionEntry[]): Promise<void>;
  close(): void;
}

export interface TellerNeeds {
  readonly pi: Pick<ExtensionApi, 'sendMessage'>;
  readonly here: JobsHere;
  readonly clock: Clock;
  readonly warn: (text: string) => void;
  /** An end begins a turn of a pi that is idle. One that always gets a prompt next must not be busy then. */
  readonly wakes: boolean;
  /** Of the Session, as it is now. */
  readonly entries: readonly SessionEntry[];
}

export function openTeller({ pi, here, clock, warn, wakes, entries }: TellerNeeds): Teller {
  const told = recallTold(entries);
  const closed = new AbortController();
  const followed = new Set<string>();
  const left = new Map<string, number>();
  /** Told, and maybe only in pi's queue, which a kill or an abort empties. */
  const unsure = new Map<string, JobView>();
  /** Jobs that were looked at, and when their records were written; undefined before the first look, which is at all. */
  let known: Map<string, number> | undefined;
  let seenAt: number | undefined;

  function follow(directory: string): void {
    if (followed.has(directory) || closed.signal.aborted) return;
    followed.add(directory);
    void watch(directory);
  }

  async function watch(directory: string): Promise<void> {
    try {
      const job = await jobEnd(here.place, directory, { clock, signal: closed.signal });
      followed.delete(directory);
      if (job !== undefined && !left.has(directory)) await tell(job);
    } catch (error) {
      followed.delete(directory);
      if (!closed.signal.aborted) warn(`The end of a background job could not be told: ${messageOf(error)}`);
    }
  }

  async function tell(job: JobView): Promise<void> {
    const key = endKey(job);
    if (job.record.notifiedAt !== null) return;
    if (!told.first(key)) {
      // By an earlier pi, which was killed before it could write that down; or by the tool, whose result is on its way.
      if (!unsure.has(key)) await markNotified(job, clock);
      return;
    }
    const details: ToldDetails = { told: [key] };
    const content = await endText(job);
    if (closed.signal.aborted) return;
    unsure.set(key, job);
    pi.sendMessage(
      { customType: MESSAGE_TYPE, content, display: true, details },
      { triggerTurn: wakes, deliverAs: 'followUp' },
    );
  }

  async function look(): Promise<void> {
    const changedAt = changeTime(here);
    if (changedAt === undefined || changedAt === seenAt) return;
    seenAt = changedAt;
    const directory = jobsDirectory(here.place, here.caller.project.folder);
    const before = known;
    known = await writingTimes(directory);
    if (before === undefined) {
      const { jobs } = await listJobs(here.place, here.caller.project);
      for (const job of jobs) if (isMine(job)) follow(job.directory);
      return;
    }
    for (const [name, time] of known) if (before.get(name) !== time) await meet(join(directory, name));
  }

  function isMine({ record }: JobView): boolean {
    return record.startedBySession === here.caller.session && record.notifiedAt === null;
  }

  async function meet(directory: string): Promise<void> {
    try {
      if (isMine(await readJob(directory))) follow(directory);
    } catch (error) {
      // One that is broken, or gone again, is for `multi-agent list` to show.
      if (!(error instanceof PiSandboxError)) throw error;
    }
  }

  return {
    told,
    follow,
    look,
    leaveToTool(directories) {
      for (const each of directories) left.set(each, (left.get(each) ?? 0) + 1);
      return () => {
        for (const each of directories) {
          const count = (left.get(each) ?? 1) - 1;
          if (count === 0) left.delete(each);
          else left.set(each, count);
        }
      };
    },
    wasTold(job) {
      told.first(endKey(job));
      unsure.set(endKey(job), job);
    },
    async settled(now) {
      if (unsure.size === 0) return;
      const { has } = recallTold(now);
      for (const [key, job] of [...unsure]) {
        if (!has(key)) continue;
        unsure.delete(key);
        await markNotified(job, clock);
      }
    },
    close: () => closed.abort(),
  };
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
