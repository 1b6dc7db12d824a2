import { examples } from '../jobs/examples.ts';

/** The examples at the end of a verb's help; each line stands after `multi-agent runs`. */
export function runExamples(...lines: string[]): string {
  return examples(...lines.map((line) => `runs ${line}`));
}
