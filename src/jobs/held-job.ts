/** A job whose lock this process has: it may write its files, and has to see its run to an end. */
import type { FileLock } from '../lib/kernel-lock.ts';
import type { JobDirectory, JobsPlace } from './places.ts';
import type { JobRecord } from './record.ts';

export interface HeldJob {
  readonly place: JobsPlace;
  readonly directory: JobDirectory;
  readonly record: JobRecord;
  /** Of its `lock`. Status is `starting`, the files of the run before are cleared, prompt and `runs` are written. */
  readonly lock: FileLock;
}
