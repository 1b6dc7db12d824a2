import { MAX_LINE_BYTES } from '../../lib/json-line-reader.ts';

/** Every bound of the client (rule 7). Milliseconds, bytes or counts, as the name says. */
export interface RpcLimits {
  /** A longer line is skipped and reported; the client stays usable. */
  lineBytes: number;
  /** So much of the end of standard error is kept. */
  stderrBytes: number;
  /** Until the first answer; many that start at once share the processors. */
  startMs: number;
  /** Until the answer to a request that pi answers at once. */
  answerMs: number;
  /** During a turn, so long without a word pi is asked for a sign of life. */
  quietMs: number;
  /** Until `abort` is answered, which pi does when it is idle. */
  abortMs: number;
  /** Between two looks at a pi that says it has settled and has not answered. */
  doubtMs: number;
  /** Between SIGTERM and SIGKILL. */
  graceMs: number;
  /** So long what pi wrote is read after its end, while a child of it keeps the pipe open. */
  drainMs: number;
  /** More than so many lines in a row that are not the protocol end the client. */
  garbageLines: number;
  /** Dialogs that wait for a handler at once. */
  openDialogs: number;
}

export const RPC_LIMITS: Readonly<RpcLimits> = {
  lineBytes: MAX_LINE_BYTES,
  stderrBytes: 64 * 1024,
  startMs: 60_000,
  answerMs: 30_000,
  quietMs: 30_000,
  abortMs: 30_000,
  doubtMs: 500,
  graceMs: 5_000,
  drainMs: 2_000,
  garbageLines: 1_000,
  openDialogs: 64,
};
