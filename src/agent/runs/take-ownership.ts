import { launchOwner, type Manifest, takeOwnership as take } from '../../runs/index.ts';
import { answering } from './answering.ts';
import { commandsForRun, RUNS_CALLED_AS } from './called-as.ts';
import { runContext } from './context.ts';
import { runNamed } from './named.ts';
import { ownerProgramHere } from './owner-deps.ts';

interface TakeOptions {
  readonly continue?: boolean;
  readonly retry?: Manifest['retry'];
  readonly force?: boolean;
  readonly json?: boolean;
}

/** Makes an orphan the caller's; with `--continue` a new owner finishes its graph (R6, R7). */
export function takeOwnership(
  run: string,
  { continue: goOn = false, retry, force = false, json = false }: TakeOptions,
): Promise<number> {
  return answering({ json }, async () => {
    const context = await runContext();
    const { place, caller, deps, jobs } = context;
    const directory = await runNamed(context, run);
    const options = { force, goOn, ...(retry === undefined ? {} : { retry }) };
    const held = await take(place, directory, caller, { ...deps, ...options });
    if (goOn) await launchOwner(held, { env: jobs.env, owner: ownerProgramHere() });
    else held.lock.release();
    const { runId } = held.manifest;
    const next = goOn
      ? `show_cmd: ${commandsForRun(runId).show_cmd}`
      : `nobody runs it yet: ${RUNS_CALLED_AS} take-ownership ${runId} --continue`;
    return {
      facts: { runId, runDir: directory, continued: goOn, ...commandsForRun(runId) },
      text: `${runId} is yours\n${next}\n`,
    };
  });
}
