import type { FaultCase } from '../fault-case.ts';
import type { JobsWorld } from '../jobs/world.ts';
import { jobDamaged, jobFullDisk } from './jobs-damaged.ts';
import { jobFailingCalls, jobKilled, jobKilledAtCall, jobKilledRealPi } from './jobs-killed.ts';
import { jobRaces } from './jobs-races.ts';

/** Every kind of fault that jobs are tried with (docs/faults.md). */
export const JOB_FAULTS: readonly FaultCase<JobsWorld>[] = [
  jobKilled,
  jobKilledAtCall,
  jobKilledRealPi,
  jobFailingCalls,
  jobDamaged,
  jobFullDisk,
  jobRaces,
];
