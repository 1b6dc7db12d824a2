import { UsageError } from '../../lib/errors.ts';

/**
 * Asks a yes-or-no question on the terminal; Enter alone means no. Every caller has a flag that answers it, and
 * without a terminal that flag is required (rule 6).
 *
 * @param answer what the flag says, if it was given
 * @throws UsageError without a terminal and without the flag
 */
export async function confirm(question: string, flag: string, answer: boolean | undefined): Promise<boolean> {
  if (answer !== undefined) return answer;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new UsageError(`${question} There is no terminal to ask on`, { hint: `answer with ${flag}` });
  }
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim());
  } finally {
    lines.close();
  }
}
