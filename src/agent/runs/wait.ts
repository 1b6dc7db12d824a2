import { EXIT } from '../../lib/errors.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { type RunDirectory, waitForRun } from '../../runs/index.ts';
import { type Answer, answering } from './answering.ts';
import { RUNS_CALLED_AS } from './called-as.ts';
import { type RunContext, runContext } from './context.ts';
import { runNamed } from './named.ts';
import { runDetails } from './run-json.ts';

/** Waits for a run and changes nothing: 0 it has succeeded, 1 it has not, 3 the time was over first. */
export function wait(run: string, options: { timeout?: number; json?: boolean }): Promise<number> {
  return answering(options, async () => {
    const context = await runContext();
    return awaited(context, await runNamed(context, run), options.timeout);
  });
}

/** @param timeoutMs without it as long as it takes */
export async function awaited(
  context: RunContext,
  directory: RunDirectory,
  timeoutMs: number | undefined,
): Promise<Answer> {
  const { place, deps, caller } = context;
  const { run, timedOut } = await waitForRun(place, directory, { clock: deps.clock, timeoutMs });
  const { id, state } = run;
  const facts = { ...runDetails(run, caller), timedOut };
  if (timedOut) process.stderr.write(`multi-agent: still ${state.status}: ${id}\n`);
  else if (!state.terminal)
    process.stderr.write(
      `multi-agent: run ${id} has no owner any more\n  ${RUNS_CALLED_AS} take-ownership ${id} --continue goes on with it\n`,
    );
  else if (state.reason !== null)
    process.stderr.write(`multi-agent: run ${id}: ${safeForTerminal(state.reason)}\n`);
  const exitCode = timedOut ? EXIT.timeout : state.status === 'succeeded' ? 0 : EXIT.failed;
  return { facts, text: `${id} ${state.status}\n`, exitCode };
}
