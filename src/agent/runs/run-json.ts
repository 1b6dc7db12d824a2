/** What `--json` says of one run; docs/runs.md describes it. */
import { factsOf, type KnownRun, type OwnerClass, ownerClassOf, type RunCaller } from '../../runs/index.ts';
import type { Used } from './draw.ts';

/** Owner and state, in short. */
export function runFacts(run: KnownRun, caller: RunCaller) {
  const { id, directory, manifest, state } = run;
  const ownerClass: OwnerClass = ownerClassOf(factsOf(run), caller);
  return {
    runId: id,
    ownerClass,
    status: state.status,
    reason: state.reason,
    terminal: state.terminal,
    terminalAt: state.terminalAt,
    updatedAt: state.updatedAt,
    objective: manifest.objective,
    createdAt: manifest.createdAt,
    runDir: directory,
  };
}

/**
 * And every step, in the order of the graph.
 *
 * @param used of those that run, as their jobs say it now
 */
export function runDetails(run: KnownRun, caller: RunCaller, used: ReadonlyMap<string, Used> = new Map()) {
  const { manifest, state } = run;
  const steps = manifest.graph.steps.map(({ id, needs, after }) => ({
    id,
    needs,
    after,
    ...state.steps[id],
    ...used.get(id),
  }));
  return { ...runFacts(run, caller), schedule: manifest.schedule, steps };
}
