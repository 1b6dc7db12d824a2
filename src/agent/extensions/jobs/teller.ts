/**
 * Tells the Session that started a job of its end, once, when nothing of the model's is interrupted by it (J12). Jobs that
 * ended while this Session was closed are told when it is opened again.
 */

import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type JobView, jobEnd, jobsDirectory, listJobs, markNotified, readJob } from '../../../jobs/index.ts';
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
  /** The tool has told it. */
  wasTold(job: JobView): void;
  close(): void;
}

export interface TellerNeeds {
  readonly pi: Pick<ExtensionApi, 'sendMessage'>;
  readonly here: JobsHere;
  readonly clock: Clock;
  readonly warn: (text: string) => void;
  /** Of the Session, as it is now. */
  readonly entries: readonly SessionEntry[];
}

export function openTeller({ pi, here, clock, warn, entries }: TellerNeeds): Teller {
  const told = recallTold(entries);
  const closed = new AbortController();
  const followed = new Set<string>();
  const left = new Map<string, number>();
  /** Jobs that were looked at; undefined before the first look, which is at all of them. */
  let names: Set<string> | undefined;
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
    if (told.first(key)) {
      const details: ToldDetails = { told: [key] };
      const content = await endText(job);
      if (closed.signal.aborted) return;
      pi.sendMessage(
        { customType: MESSAGE_TYPE, content, display: true, details },
        { triggerTurn: true, deliverAs: 'followUp' },
      );
    }
    // Also where an earlier pi told it and was killed before it could write that down.
    await markNotified(job.directory, clock);
  }

  async function look(): Promise<void> {
    const changedAt = changeTime(here);
    if (changedAt === undefined || changedAt === seenAt) return;
    seenAt = changedAt;
    if (names === undefined) {
      const { jobs } = await listJobs(here.place, here.caller.project);
      names = new Set(jobs.map(({ directory }) => basename(directory)));
      for (const job of jobs) if (isMine(job)) follow(job.directory);
      return;
    }
    const directory = jobsDirectory(here.place, here.caller.project.folder);
    for (const name of await readdir(directory)) {
      if (name.startsWith('.') || names.has(name)) continue;
      names.add(name);
      await meet(join(directory, name));
    }
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
      void markNotified(job.directory, clock).catch(() => {});
    },
    close: () => closed.abort(),
  };
}

/** Of the project's directory of jobs, in which every start makes an entry; undefined where there is none. */
function changeTime({ place, caller }: JobsHere): number | undefined {
  return statSync(jobsDirectory(place, caller.project.folder), { throwIfNoEntry: false })?.mtimeMs;
}
