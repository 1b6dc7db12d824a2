import { LimitError } from '../lib/errors.ts';
import { isJson, type Json } from './clients/fields.ts';

const MAX_LINE = 1024 * 1024;

/** The objects of an engine's progress stream, one a line; lines that are none are passed over. */
export async function* jsonLines(source: AsyncIterable<Buffer>): AsyncGenerator<Json> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of source) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE)
      throw new LimitError(`the engine sent a line of more than ${MAX_LINE} characters`);
    yield* lines.flatMap(parsed);
  }
  yield* parsed(rest);
}

function parsed(line: string): Json[] {
  if (line.trim() === '') return [];
  try {
    const value: unknown = JSON.parse(line);
    return isJson(value) ? [value] : [];
  } catch {
    return [];
  }
}
