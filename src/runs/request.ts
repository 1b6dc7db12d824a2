/** What a start of a run needs: from a command, the tool `agent_team`, or a schedule. */
import type { JobProject } from '../jobs/index.ts';
import type { Clock } from '../lib/clock.ts';
import type { RandomSource } from '../lib/ids.ts';
import type { Graph } from './graph/graph.ts';
import type { RunId } from './ids.ts';
import type { Manifest } from './manifest.ts';

export interface StartRequest {
  readonly graph: Graph;
  readonly project: JobProject;
  /** Absolute, as its user spells it; steps' directories are relative to it. */
  readonly cwd: string;
  /** Id of the pi Session that starts it, or null. */
  readonly session: string | null;
  /** As `placeBelow` of the jobs gives them (J8). */
  readonly below: Pick<Manifest, 'parentJob' | 'depth' | 'maxDepth'>;
  readonly settings: Pick<
    Manifest,
    'concurrency' | 'timeoutSeconds' | 'terminalRetentionSeconds' | 'retry' | 'maxCost' | 'maxTokens'
  >;
  readonly schedule: string | null;
  /** Exactly this id, which a schedule has written down before; else a new one. */
  readonly id?: RunId;
}

export interface RunDeps {
  readonly clock: Clock;
  readonly random?: RandomSource;
  /** Written beside the lock and into the manifest, for people to read. */
  readonly identity: { readonly pid: number; readonly host: string; readonly uid: number };
}
