/** The examples at the end of a verb's help; each line stands after `multi-agent`. */
export function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ multi-agent ${line}`).join('\n')}`;
}
