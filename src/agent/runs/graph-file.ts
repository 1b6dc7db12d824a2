/** The graph that a command is given (R4): a file of YAML or JSON, or standard input. */
import { extname } from 'node:path';
import { readRegularFile } from '../../lib/bounded-read.ts';
import { messageOf, UsageError } from '../../lib/errors.ts';
import { readStandardInput } from '../../lib/standard-input.ts';
import { parseYaml } from '../../lib/yaml-text.ts';
import { checkGraph, type Graph, InvalidGraphError, LIMITS } from '../../runs/index.ts';

const STANDARD_INPUT = '-';

/**
 * @param source a path, or `-`
 * @throws InvalidGraphError with everything that is wrong with it; UsageError, LimitError, FileError
 */
export async function readGraph(source: string, maxSteps?: number): Promise<Graph> {
  return graphInText(source, await textOf(source), maxSteps);
}

/** @throws InvalidGraphError */
export async function graphInText(source: string, text: string, maxSteps?: number): Promise<Graph> {
  return graphIn(source, await parsed(source, text), maxSteps);
}

/** @throws InvalidGraphError */
export function graphIn(source: string, value: unknown, maxSteps?: number): Graph {
  const checked = checkGraph(value, maxSteps);
  if ('graph' in checked) return checked.graph;
  throw new InvalidGraphError(source, checked.objections);
}

async function textOf(source: string): Promise<string> {
  if (source === STANDARD_INPUT) return readStandardInput(process.stdin, LIMITS.graphBytes);
  const content = await readRegularFile(source, { maxBytes: LIMITS.graphBytes, within: '/' });
  if (content === undefined) throw new UsageError(`there is no file ${source}`);
  return content.toString('utf8');
}

/** JSON is YAML too; a file that is called JSON gets the faults of JSON. */
async function parsed(source: string, text: string): Promise<unknown> {
  try {
    if (extname(source) === '.json') return JSON.parse(text);
    return await parseYaml(text, { prettyErrors: true });
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const [first = ''] = error.message.split('\n');
    throw new InvalidGraphError(source, [messageOf(first).replace(/:$/, '')]);
  }
}
