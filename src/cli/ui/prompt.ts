import { UsageError } from '../../lib/errors.ts';

/** An error is one line: of a longer question it quotes the beginning. */
const MAX_QUOTED = 200;

/**
 * Asks a yes-or-no question on the terminal; Enter alone means no. Every caller has a flag that answers it, and
 * without a terminal that flag is required (rule 6).
 *
 * @param answer what the flag says, if it was given
 * @throws UsageError without a terminal and without the flag
 */
export async function confirm(question: string, flag: string, answer: boolean | undefined): Promise<boolean> {
  if (answer !== undefined) return answer;
  return /^y(es)?$/i.test(await ask(`${question} [y/N] `, question, flag));
}

/**
 * Asks which of several answers it is to be, by its first letter; Enter alone, or anything else, is the last one.
 *
 * @param answer what the flag says, if it was given
 * @throws UsageError without a terminal and without the flag
 */
export async function choose<Answer extends string>(
  question: string,
  answers: readonly [Answer, ...Answer[]],
  flag: string,
  answer: Answer | undefined,
): Promise<Answer> {
  if (answer !== undefined) return answer;
  const last = answers.at(-1) ?? answers[0];
  const letters = answers.map((each) => (each === last ? (each[0] ?? '').toUpperCase() : each[0])).join('/');
  const given = await ask(`${question} [${letters}] `, question, flag);
  return answers.find((each) => given !== '' && each.startsWith(given.toLowerCase())) ?? last;
}

/** There is a terminal to ask on. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

async function ask(prompt: string, question: string, flag: string): Promise<string> {
  if (!canAsk()) {
    const quoted = question.length > MAX_QUOTED ? `${question.slice(0, MAX_QUOTED)}…` : question;
    throw new UsageError(`${quoted} There is no terminal to ask on`, { hint: `answer with ${flag}` });
  }
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await lines.question(prompt)).trim();
  } finally {
    lines.close();
  }
}
