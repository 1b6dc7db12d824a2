import { jsonText } from '../../lib/json-text.ts';
import { ask } from './asking.ts';
import { jobContext, jobNamed } from './context.ts';

/** Answers the dialog that a job waits with: the oldest one, or the one that is named (J5). */
export async function answer(
  name: string,
  value: string,
  { dialog, json = false }: { dialog?: string; json?: boolean },
): Promise<number> {
  const context = await jobContext();
  const { directory } = await jobNamed(context, name);
  await ask(context, directory, name, { op: 'answer', value, ...(dialog === undefined ? {} : { dialog }) });
  process.stdout.write(json ? `${jsonText({ version: 1, name, answered: true }, 2)}\n` : 'answered\n');
  return 0;
}
