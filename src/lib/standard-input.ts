/** Text from standard input, for arguments that are `-`. */
import { buffer } from 'node:stream/consumers';
import { LimitError, UsageError } from './errors.ts';

/**
 * @param input `process.stdin`
 * @throws UsageError when it is a terminal, where nobody expects to type it; LimitError
 */
export async function readStandardInput(input: NodeJS.ReadStream, maxBytes: number): Promise<string> {
  if (input.isTTY) throw new UsageError('"-" reads standard input, which is the terminal here');
  const given = await buffer(limited(input, maxBytes));
  return given.toString('utf8');
}

async function* limited(input: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const piece of input) {
    length += piece.length;
    if (length > maxBytes) throw new LimitError(`standard input is longer than ${maxBytes} bytes`);
    yield piece;
  }
}
