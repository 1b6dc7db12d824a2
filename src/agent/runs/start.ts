import { EXIT } from '../../lib/errors.ts';
import type { HeldRun } from '../../runs/index.ts';
import { type Answer, answering } from './answering.ts';
import { type BeginOptions, beginRun } from './begin.ts';
import { commandsForRun } from './called-as.ts';
import { type RunContext, runContext } from './context.ts';
import { readGraph } from './graph-file.ts';
import { followed } from './show-run.ts';
import { awaited } from './wait.ts';

interface StartOptions extends BeginOptions {
  readonly wait?: boolean;
  readonly follow?: boolean;
  readonly json?: boolean;
}

/** Starts a run and prints its id; with `--wait` and `--follow` the command ends with the run, and as it did. */
export async function start(source: string, options: StartOptions): Promise<number> {
  const { follow = false, wait = false, json = false } = options;
  let run: Begun | undefined;
  const code = await answering({ json, lines: follow }, async () => {
    const context = await runContext();
    const graph = await readGraph(source, options.maxSteps);
    run = { context, held: await beginRun(context, graph, options) };
    if (!wait) return started(run.held);
    process.stderr.write(`run: ${run.held.manifest.runId}\n`);
    return awaited(context, run.held.directory, undefined);
  });
  if (run === undefined || !follow || wait) return code;
  const { state } = await followed(run.context, run.held.directory, { json });
  return state.status === 'succeeded' ? 0 : EXIT.failed;
}

interface Begun {
  readonly context: RunContext;
  readonly held: HeldRun;
}

function started({ directory, manifest: { runId, graph } }: HeldRun): Answer {
  const commands = commandsForRun(runId);
  return {
    facts: { runId, runDir: directory, steps: graph.steps.length, ...commands },
    text: `run: ${runId}\nstatus_cmd: ${commands.status_cmd}\nshow_cmd: ${commands.show_cmd}\n`,
  };
}
