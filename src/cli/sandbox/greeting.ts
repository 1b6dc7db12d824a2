import type { ProgramStreams } from '../../engine/index.ts';
import { PiSandboxError, TimeoutError, UsageError } from '../../lib/errors.ts';
import {
  FrameConnection,
  type OpenReply,
  type OpenRequest,
  PROTOCOL,
  type Status,
} from '../../wire/index.ts';

/** The sandbox understood and said no; the message, the next step and the exit code are its own. */
export class SandboxRefusedError extends PiSandboxError {
  readonly exitCode: number;
  /** The volumes may merely never have been prepared: worth one more look (S2). */
  readonly foreignVolume: boolean;

  constructor(reply: Extract<OpenReply, { answer: 'refused' }>) {
    super(reply.message, { hint: reply.hint });
    // A no is a failure, whatever the sandbox calls it (rule 8).
    this.exitCode = reply.exitCode > 0 && reply.exitCode < 256 ? reply.exitCode : 1;
    this.foreignVolume = reply.reason === 'foreign-volume';
  }
}

/** How a request was met: `lost` and `closing` mean that nothing has happened and one may start over. */
export type Greeting =
  | { answer: 'accepted'; connection: FrameConnection; value: unknown }
  | { answer: 'closing' | 'lost' };

/** A request, and the tar that it announces if it brings a configuration. */
export interface Opening {
  request: OpenRequest;
  merge?: Buffer | undefined;
  onStatus: (status: Status) => void;
}

/** A start that has had the old history sorted: whatever came of it, the sandbox does not ask for it again (S12). */
export function withOldHistoryTried(opening: Opening, closed: boolean): Opening {
  const { request } = opening;
  if (request.verb !== 'run') return opening;
  return { ...opening, request: { ...request, oldHistoryTried: true, oldHistoryClosed: closed } };
}

/** A sandbox's answer is waited for this long: what runs in it may have stopped the supervisor, or speak for it. */
export const ANSWER_MS = 90_000;

/**
 * Sends a request over a program's streams and waits for the answer.
 *
 * @throws SandboxRefusedError for a final no, TimeoutError for no answer
 */
export async function open(
  streams: ProgramStreams,
  token: string | undefined,
  opening: Opening,
  answerMs = ANSWER_MS,
): Promise<Greeting> {
  const connection = new FrameConnection({ input: streams.stdout, output: streams.stdin });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    connection.destroy();
  }, answerMs);
  try {
    const greeting = await ask(connection, token, opening);
    if (late) throw noAnswer(answerMs);
    if (greeting.answer !== 'accepted') connection.destroy();
    return greeting;
  } catch (error) {
    connection.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function ask(
  connection: FrameConnection,
  token: string | undefined,
  opening: Opening,
): Promise<Greeting> {
  connection.send({
    type: 'hello',
    value: { protocol: PROTOCOL, version: PI_SANDBOX_VERSION, ...(token === undefined ? {} : { token }) },
  });
  connection.send({ type: 'open', value: opening.request });
  if (opening.merge !== undefined) connection.send({ type: 'blob', bytes: opening.merge });
  for (;;) {
    const frame = await connection.read();
    if (frame === undefined) return { answer: 'lost' };
    if (frame.type === 'hello' && frame.value.protocol !== PROTOCOL) throw otherProtocol(frame.value.version);
    if (frame.type === 'status') opening.onStatus(frame.value);
    if (frame.type !== 'reply') continue;
    if (frame.value.answer === 'refused') throw new SandboxRefusedError(frame.value);
    return frame.value.answer === 'accepted'
      ? { answer: 'accepted', connection, value: frame.value.value }
      : { answer: 'closing' };
  }
}

export function noAnswer(milliseconds: number): TimeoutError {
  return new TimeoutError(`the running sandbox did not answer within ${milliseconds / 1_000} s`, {
    hint: 'something in it may have stopped its supervisor: pi-sandbox stop, then start again',
  });
}

/** Reads the one line that the bridge prints before the frames begin; undefined when it ends without one. */
export function readToken(streams: ProgramStreams): Promise<string | undefined> {
  const { stdout } = streams;
  return new Promise((resolve) => {
    let seen = Buffer.alloc(0);
    const finish = (token: string | undefined): void => {
      stdout.off('data', take).off('end', fail).off('close', fail);
      stdout.pause();
      resolve(token);
    };
    const fail = (): void => finish(undefined);
    const take = (chunk: Buffer): void => {
      seen = Buffer.concat([seen, chunk]);
      const end = seen.indexOf(0x0a);
      if (end < 0 && seen.length < 1_024) return;
      const rest = seen.subarray(end + 1);
      finish(end < 0 ? undefined : seen.subarray(0, end).toString('latin1'));
      if (rest.length > 0) stdout.unshift(rest);
    };
    stdout.on('data', take).once('end', fail).once('close', fail);
  });
}

/** Keeps the first bytes of what a program says on standard error, for the message if it fails. */
export function collectErrors(streams: Pick<ProgramStreams, 'stderr'>): () => string {
  let text = '';
  streams.stderr.on('data', (chunk: Buffer) => {
    if (text.length < 4_096) text += chunk.toString('utf8');
  });
  streams.stderr.on('error', () => undefined);
  return () => text.trim().replace(/^pi-sandbox: /, '');
}

function otherProtocol(version: string): UsageError {
  return new UsageError(
    `the running sandbox was started by version ${version}, which this command cannot talk to`,
    {
      hint: 'pi-sandbox stop, then start again',
    },
  );
}
