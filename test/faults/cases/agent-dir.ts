import type { AgentDirWorld } from '../agent-dir/world.ts';
import type { FaultCase } from '../fault-case.ts';
import { layoutFailingCalls, layoutKilled, layoutRaces } from './layout.ts';
import { memoryFailingCalls, memoryKilled, memoryRaces } from './memory.ts';

/** Every kind of fault that the agent directory is tried with (docs/faults.md). */
export const AGENT_DIR_FAULTS: readonly FaultCase<AgentDirWorld>[] = [
  layoutKilled,
  layoutFailingCalls,
  layoutRaces,
  memoryKilled,
  memoryFailingCalls,
  memoryRaces,
];
