import { messageRun } from '../../runs/index.ts';
import { type PromptOptions, promptOf } from '../jobs/prompt.ts';
import { answering } from './answering.ts';
import { runContext } from './context.ts';
import { runNamed } from './named.ts';
import { ownerDeps } from './owner-deps.ts';

/** Puts a text into a step that runs, or keeps it for one that is to begin (R3); prints which. */
export function message(
  run: string,
  step: string,
  words: readonly string[],
  { force = false, json = false, ...options }: PromptOptions & { force?: boolean; json?: boolean },
): Promise<number> {
  return answering({ json }, async () => {
    const context = await runContext();
    const directory = await runNamed(context, run);
    const text = await promptOf(words, options);
    const { place, caller } = context;
    const receipt = await messageRun(place, directory, { step, text, caller, force }, ownerDeps(context));
    return { facts: { step, receipt }, text: `${receipt}\n` };
  });
}
