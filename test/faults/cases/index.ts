import type { FaultCase } from '../fault-case.ts';
import type { World } from '../world.ts';
import { damagedCache, damagedConfiguration, damagedState } from './damaged-files.ts';
import { interrupted, killedFirstStart, killedStart } from './ended-commands.ts';
import { idleStop, stopping } from './endings.ts';
import { fullVolume } from './full-volumes.ts';
import { killedSandbox, removedByHand } from './killed-sandboxes.ts';
import { firstStarts, oneProject, twoDomains } from './races.ts';
import { rightSettings } from './right-settings.ts';

/** Every kind of fault that a start is tried with (docs/faults.md). */
export const START_FAULTS: readonly FaultCase<World>[] = [
  oneProject,
  twoDomains,
  firstStarts,
  idleStop,
  stopping,
  killedStart,
  killedFirstStart,
  interrupted,
  killedSandbox,
  removedByHand,
  fullVolume,
  damagedConfiguration,
  damagedCache,
  damagedState,
  rightSettings,
];
