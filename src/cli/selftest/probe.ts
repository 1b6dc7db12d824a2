/** Runs the image's selftest program in a sandbox and takes its answer as what it is: hostile input. */
import { LimitError, messageOf, OperationError, TimeoutError } from '../../lib/errors.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import {
  type Exited,
  type FrameConnection,
  InputCredit,
  SELFTEST_ANSWER_BYTES,
  type SelftestFacts,
  type SelftestRequest,
  selftestFacts,
  sendInput,
} from '../../wire/index.ts';

/** The command that looks from inside. */
export const PROBE = ['/usr/local/bin/node', '/opt/pi-sandbox/selftest.mjs'];

/** Two starts of pi, each with its own limit inside; this is for a sandbox that keeps to none. */
const ANSWER_MS = 180_000;
const MAX_ERRORS = 16 * 1024;

/**
 * Asks over the connection of the running program.
 *
 * @throws OperationError when the program fails, TimeoutError, LimitError, or for an answer that is none
 */
export async function probe(connection: FrameConnection, request: SelftestRequest): Promise<SelftestFacts> {
  const { exited, output, errors } = await converse(connection, JSON.stringify(request));
  if (exited.code !== 0) {
    const old = /Cannot find module/.test(errors);
    throw new OperationError(
      old
        ? 'the running sandbox is of a version that has no selftest'
        : `the selftest in the sandbox failed: ${safeForTerminal(lastLine(errors)) || `exit code ${exited.code}`}`,
      { hint: 'pi-sandbox stop, then pi-sandbox selftest again' },
    );
  }
  try {
    return selftestFacts().parse(JSON.parse(output));
  } catch (error) {
    throw new OperationError(
      `the selftest's answer is none: ${safeForTerminal(messageOf(error)).slice(0, 500)}`,
    );
  }
}

interface Answer {
  exited: Exited;
  output: string;
  errors: string;
}

async function converse(connection: FrameConnection, input: string): Promise<Answer> {
  const credit = new InputCredit(connection.closed);
  const { promise, resolve, reject } = Promise.withResolvers<Exited>();
  const timer = setTimeout(
    () => reject(new TimeoutError(`the sandbox did not answer within ${ANSWER_MS / 1_000} s`)),
    ANSWER_MS,
  );
  const pieces: Uint8Array[] = [];
  let length = 0;
  let errors = '';
  connection.onFrame((frame) => {
    if (frame.type === 'exited') resolve(frame.value);
    if (frame.type === 'ack') credit.acknowledge(frame.consumed);
    if (frame.type === 'error-data')
      errors = (errors + Buffer.from(frame.bytes).toString()).slice(-MAX_ERRORS);
    if (frame.type !== 'data') return;
    length += frame.bytes.length;
    if (length > SELFTEST_ANSWER_BYTES)
      reject(new LimitError(`the selftest's answer is longer than ${SELFTEST_ANSWER_BYTES} bytes`));
    else pieces.push(frame.bytes);
  });
  void connection.closed.then(() => reject(new OperationError('the connection to the sandbox was lost')));
  try {
    await sendInput(connection, credit, Buffer.from(input));
    connection.send({ type: 'end-of-input' });
    const exited = await promise;
    return { exited, output: Buffer.concat(pieces).toString('utf8'), errors };
  } finally {
    clearTimeout(timer);
    connection.destroy();
  }
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}
