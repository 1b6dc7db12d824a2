/** YAML as a value. The parser is a file of its own beside the programs, for it is large and few commands need it. */

/**
 * @param prettyErrors a failure says where in the text it is: in its first line, and shows it in the next ones
 * @throws Error for what is no YAML
 */
export async function parseYaml(text: string, { prettyErrors = false } = {}): Promise<unknown> {
  const { parse } = await import('./yaml.ts');
  return parse(text, { prettyErrors });
}
