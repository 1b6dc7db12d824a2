/** The examples at the end of a verb's help; each line stands after `pi-work`. */
export function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ pi-work ${line}`).join('\n')}`;
}
