/** How every verb of `runs` ends: with text for people, or with one JSON document that says `ok` (spec 4). */
import { PiSandboxError } from '../../lib/errors.ts';
import { jsonText } from '../../lib/json-text.ts';
import { refusalOf } from '../../runs/index.ts';
import { asCalled } from './called-as.ts';

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
    if (!(error instanceof PiSandboxError)) throw error;
    const refusal = new Refusal(error);
    if (!json) throw refusal;
    process.stdout.write(`${jsonText(refusalOf(error, refusal.hint), indent)}\n`);
    return error.exitCode;
  }
  const { facts, text, exitCode = 0 } = answer;
  process.stdout.write(json ? `${jsonText({ ok: true, ...facts }, indent)}\n` : text);
  return exitCode;
}

/** What was refused, with a next step that can be typed where it is read (J13). */
class Refusal extends PiSandboxError {
  readonly exitCode: number;

  constructor(cause: PiSandboxError) {
    const { message, hint, exitCode } = cause;
    super(message, { cause, hint: hint && asCalled(hint) });
    this.exitCode = exitCode;
  }
}
