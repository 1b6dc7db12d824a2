/** How every verb of `runs` ends: with text for people, or with one JSON document that says `ok` (spec 4). */
import { PiSandboxError } from '../../lib/errors.ts';
import { jsonText } from '../../lib/json-text.ts';
import { refusalOf } from '../../runs/index.ts';

export interface Answer {
  /** Beside `ok: true`. */
  readonly facts: object;
  /** The same for people, with its last line ended. */
  readonly text: string;
  /** 0 unless it says otherwise. */
  readonly exitCode?: number;
}

/**
 * Runs a verb and prints its answer; with `--json` a refusal is a document too, on standard output.
 *
 * @param options with `lines` a document is one line, for more come after it
 */
export async function answering(
  { json = false, lines = false }: { readonly json?: boolean; readonly lines?: boolean },
  verb: () => Promise<Answer>,
): Promise<number> {
  const indent = lines ? undefined : 2;
  let answer: Answer;
  try {
    answer = await verb();
  } catch (error) {
    if (!json || !(error instanceof PiSandboxError)) throw error;
    process.stdout.write(`${jsonText(refusalOf(error), indent)}\n`);
    return error.exitCode;
  }
  const { facts, text, exitCode = 0 } = answer;
  process.stdout.write(json ? `${jsonText({ ok: true, ...facts }, indent)}\n` : text);
  return exitCode;
}
