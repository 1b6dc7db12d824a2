import { randomBytes } from 'node:crypto';
import type { Engine } from '../../engine/index.ts';
import { OperationError } from '../../lib/errors.ts';
import { type Exited, InputCredit, sendInput } from '../../wire/index.ts';
import { askSupervisor, notReached } from './ask-supervisor.ts';
import type { ListedSandbox } from './find-sandboxes.ts';

const ANSWER_MS = 30_000;
/** What a program says on standard error is for one message (rule 7). */
const MAX_STDERR = 8 * 1024;

export interface PipedRun {
  readonly command: readonly string[];
  /** Written to the program's standard input, which then ends. */
  readonly input?: AsyncIterable<Uint8Array>;
  /** Takes the program's output; its promise holds the program back. */
  readonly onOutput?: (bytes: Uint8Array) => Promise<void> | undefined;
  readonly signal?: AbortSignal;
}

export interface PipedEnd {
  readonly exited: Exited;
  readonly stderr: string;
}

/**
 * Runs a program of ours in a running sandbox, as a client for whose sake it goes on running, and hands its bytes both
 * ways. What comes back may be the word of anything in there (rule 8).
 *
 * @throws OperationError when the sandbox does not run, or goes away meanwhile
 */
export async function runPiped(engine: Engine, sandbox: ListedSandbox, run: PipedRun): Promise<PipedEnd> {
  const answer = await askSupervisor(
    engine,
    sandbox.id,
    {
      verb: 'run',
      id: randomBytes(16).toString('hex'),
      program: 'command',
      arguments: [...run.command],
      directory: '/',
      environment: {},
    },
    ANSWER_MS,
  );
  if (answer === undefined) throw notReached(sandbox, `pi-sandbox shell ${sandbox.project} -- true`);
  const { connection } = answer;
  const credit = new InputCredit(connection.closed);
  let exited: Exited | undefined;
  let stderr = '';
  let failure: unknown;
  const fail = (error: unknown): void => {
    failure ??= error;
    connection.destroy();
  };
  const abort = (): void => fail(run.signal?.reason);
  run.signal?.addEventListener('abort', abort, { once: true });
  if (run.signal?.aborted === true) abort();
  connection.onFrame((frame) => {
    switch (frame.type) {
      case 'data':
        return run.onOutput?.(frame.bytes)?.catch(fail);
      case 'error-data':
        if (stderr.length < MAX_STDERR) stderr += Buffer.from(frame.bytes).toString('utf8');
        return undefined;
      case 'ack':
        credit.acknowledge(frame.consumed);
        return undefined;
      case 'exited':
        exited = frame.value;
        connection.destroy();
        return undefined;
      default:
        return undefined;
    }
  });
  const sending = sendAll(run.input).catch(fail);
  await connection.closed;
  run.signal?.removeEventListener('abort', abort);
  if (failure !== undefined) throw failure;
  // A program that ends early takes no more of its input, and that is no failure of ours.
  if (exited === undefined) {
    await sending;
    throw new OperationError(`the connection to ${sandbox.name} was lost`);
  }
  return { exited, stderr: stderr.trim() };

  async function sendAll(input: AsyncIterable<Uint8Array> | undefined): Promise<void> {
    if (input !== undefined)
      for await (const chunk of input) if (!(await sendInput(connection, credit, chunk))) return;
    connection.send({ type: 'end-of-input' });
  }
}
