import type { FaultCase } from '../fault-case.ts';
import type { RunsWorld } from '../runs/world.ts';
import { runFailingCalls, runKilled, runKilledAtCall, runKilledRealPi } from './runs-killed.ts';

/** Every kind of fault that runs are tried with (docs/faults.md). */
export const RUN_FAULTS: readonly FaultCase<RunsWorld>[] = [
  runKilled,
  runKilledAtCall,
  runKilledRealPi,
  runFailingCalls,
];
