import { answering } from './answering.ts';
import { runContext } from './context.ts';
import { runNamed } from './named.ts';
import { runDetails } from './run-json.ts';
import { drawingOf, followed, sceneOf } from './show-run.ts';

interface ShowOptions {
  readonly follow?: boolean;
  readonly json?: boolean;
}

/** Draws the graph of a run with state, time, tokens and cost of each step; with `--follow` until it has ended. */
export async function show(run: string, { follow = false, json = false }: ShowOptions): Promise<number> {
  if (!follow)
    return answering({ json }, async () => {
      const context = await runContext();
      const scene = await sceneOf(context, await runNamed(context, run));
      return { facts: runDetails(scene.run, context.caller, scene.used), text: drawingOf(scene) };
    });
  const context = await runContext();
  await followed(context, await runNamed(context, run), { json });
  return 0;
}
