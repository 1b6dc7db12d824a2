/** One leased run for a whole process, whoever asks in it (W3). */
import { acquireRun } from './acquire.ts';
import type { HeldRun } from './held-run.ts';
import { wanted } from './lease-run.ts';
import type { WorkNeeds, WorkRun, WorkRunRequest } from './types.ts';

interface ProcessRuns {
  /** By work root and request: the run, or the attempt at it. */
  readonly runs: Map<string, Promise<HeldRun>>;
  readonly held: Set<HeldRun>;
}

declare global {
  // On the process and not on the module: several extensions each bring a copy of this. The number changes with the
  // shape.
  var piSandboxWorkRuns2: ProcessRuns | undefined;
}

function processRuns(): ProcessRuns {
  if (globalThis.piSandboxWorkRuns2) return globalThis.piSandboxWorkRuns2;
  const made: ProcessRuns = { runs: new Map(), held: new Set() };
  globalThis.piSandboxWorkRuns2 = made;
  process.once('exit', () => releaseAll(made.held));
  return made;
}

/** The kernel ends the leases anyway; this takes the markers away and notes when the runs were last used. */
function releaseAll(held: Iterable<HeldRun>): void {
  for (const run of held) {
    try {
      run.releaseNow();
    } catch {
      // A process that ends has nobody to tell, nor has a run that is gone.
    }
  }
}

/**
 * The run of this process for that category, tenant and run id: acquired at the first call, the same one after that,
 * and released when the process ends. One that was released or removed meanwhile is acquired anew.
 *
 * @throws as acquireRun
 */
export function processRun(
  rootPath: string,
  request: WorkRunRequest,
  needs: WorkNeeds = {},
): Promise<WorkRun> {
  const all = processRuns();
  const { category, tenant, runId = '' } = wanted(request);
  const key = JSON.stringify([rootPath, category, tenant, runId]);
  const run = usableOrNew(all, all.runs.get(key), () => acquireRun(rootPath, request, needs));
  all.runs.set(key, run);
  return run;
}

async function usableOrNew(
  { held }: ProcessRuns,
  before: Promise<HeldRun> | undefined,
  acquire: () => Promise<HeldRun>,
): Promise<HeldRun> {
  const known = await before?.catch(() => undefined);
  if (known?.isHeld() && known.stands()) return known;
  if (known) {
    held.delete(known);
    releaseAll([known]);
  }
  const run = await acquire();
  held.add(run);
  return run;
}
