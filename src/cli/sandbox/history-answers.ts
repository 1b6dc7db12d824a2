/** Reads what a history program answers as what it is: hostile input, bounded and checked line by line (rule 8). */
import type { Readable } from 'node:stream';
import * as z from 'zod/mini';
import { EXIT, LimitError, OperationError, TimeoutError } from '../../lib/errors.ts';
import { HISTORY_LIMITS, type HistoryAnswer, historyAnswer } from '../../wire/index.ts';

/** Between two lines nothing takes longer, but for another command that works on the same history. */
const SILENCE_MS = 120_000;
/** A sandbox could also answer for ever, a little at a time. */
const WHOLE_ANSWER_MS = 15 * 60_000;
/** A helper's own lines around each domain's answer. */
const Marker = z.union([
  z.object({ type: z.literal('domain'), domain: z.string() }),
  z.object({ type: z.literal('exit'), code: z.int() }),
]);
export type Marker = z.infer<typeof Marker>;

/** The lines of one domain's answer, without the last one. */
export async function readAnswer(stdout: Readable): Promise<HistoryAnswer[]> {
  const parse = answerParser();
  const lines: HistoryAnswer[] = [];
  for await (const line of linesOf(stdout)) {
    const answer = parse(line);
    if (answer === undefined) {
      throw new OperationError(NOT_IN_ITS_FORM, {
        hint: 'the sandbox may be of another version: pi-sandbox stop, then try again',
      });
    }
    lines.push(answer);
  }
  return lines;
}

/**
 * The answers of several domains one after the other, as a helper container prints them. A line that is in no known form
 * is a failure of the domain whose answer it is in, and no other's.
 */
export async function* readMarkedAnswers(stdout: Readable): AsyncGenerator<Marker | HistoryAnswer> {
  const parse = answerParser();
  for await (const line of linesOf(stdout)) {
    const marker = z.safeParse(Marker, json(line)).data;
    yield marker ??
      parse(line) ?? { type: 'failed', error: '', message: NOT_IN_ITS_FORM, exitCode: EXIT.failed };
  }
}

const NOT_IN_ITS_FORM = 'what answered for the history did not answer in its form';

function answerParser(): (line: string) => HistoryAnswer | undefined {
  const schema = historyAnswer();
  return (line) => schema.safeParse(json(line)).data;
}

function json(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

async function* linesOf(stdout: Readable): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  let count = 0;
  const end = Date.now() + WHOLE_ANSWER_MS;
  for await (const chunk of notSilent(stdout)) {
    if (Date.now() > end) throw new TimeoutError('the history did not come to the end of its answer');
    let text: Buffer = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let at = text.indexOf(0x0a); at >= 0; at = text.indexOf(0x0a)) {
      if (++count > HISTORY_LIMITS.lines) {
        throw new LimitError(`the history has more than ${HISTORY_LIMITS.lines} lines to tell`);
      }
      yield text.toString('utf8', 0, at);
      text = text.subarray(at + 1);
    }
    if (text.length > HISTORY_LIMITS.line) throw new LimitError('the history answered with an endless line');
    rest = text;
  }
}

/** The bytes of a stream that may stop answering at any time. */
export async function* notSilent(stdout: Readable, milliseconds = SILENCE_MS): AsyncGenerator<Buffer> {
  let timer: NodeJS.Timeout | undefined;
  const restart = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      stdout.destroy(new TimeoutError(`no answer from the history within ${milliseconds / 1_000} s`));
    }, milliseconds);
  };
  try {
    restart();
    for await (const chunk of stdout) {
      clearTimeout(timer);
      yield Buffer.from(chunk);
      restart();
    }
  } finally {
    clearTimeout(timer);
  }
}
