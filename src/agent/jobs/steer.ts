import { jsonText } from '../../lib/json-text.ts';
import { ask } from './asking.ts';
import { jobContext, jobNamed } from './context.ts';
import { type PromptOptions, promptOf } from './prompt.ts';

/**
 * Puts a text into a running turn: `steer` after the tool that is running, `follow-up` when the agent is done with what
 * it does. Prints what became of it; exit code 1 when the turn was over before (J6).
 */
export async function steer(
  op: 'steer' | 'follow-up',
  name: string,
  words: readonly string[],
  { json = false, ...options }: PromptOptions & { json?: boolean },
): Promise<number> {
  const context = await jobContext();
  const { directory } = await jobNamed(context, name);
  const text = await promptOf(words, options);
  const { receipt = 'queued' } = await ask(context, directory, name, { op, text });
  process.stdout.write(
    json ? `${jsonText({ version: 1, name, receipt }, 2)}\n` : `${receipt.replace('-', ' ')}\n`,
  );
  return receipt === 'not-running' ? 1 : 0;
}
