import { readRegularFile } from '../../lib/bounded-read.ts';
import { UsageError } from '../../lib/errors.ts';
import { readStandardInput } from '../../lib/standard-input.ts';

/** As much as a job's `prompt.txt` may have. */
const MAX_BYTES = 16 * 1_024 * 1_024;

export interface PromptOptions {
  readonly prompt?: string;
  readonly file?: string;
}

/**
 * The prompt (J6): the words of the command line, `-` for standard input, `--prompt`, or a file. Exactly one of them.
 *
 * @throws UsageError, LimitError, FileError
 */
export async function promptOf(words: readonly string[], options: PromptOptions): Promise<string> {
  const ways = [words.length > 0, options.prompt !== undefined, options.file !== undefined];
  const count = ways.filter(Boolean).length;
  if (count > 1)
    throw new UsageError('there is more than one prompt', {
      hint: 'give it as words, with --prompt or with --file',
    });
  const text = await given(words, options);
  if (text.trim() !== '') return text;
  const hint = 'give it as words, "-" for standard input, with --prompt or with --file';
  throw new UsageError(count === 0 ? 'there is no prompt' : 'the prompt is empty', { hint });
}

async function given(words: readonly string[], { prompt, file }: PromptOptions): Promise<string> {
  if (prompt !== undefined) return prompt;
  if (file === '-' || (words.length === 1 && words[0] === '-')) {
    return readStandardInput(process.stdin, MAX_BYTES);
  }
  if (file === undefined) return words.join(' ');
  const content = await readRegularFile(file, { maxBytes: MAX_BYTES, within: '/' });
  if (content === undefined) throw new UsageError(`there is no file ${file}`);
  return content.toString('utf8');
}
