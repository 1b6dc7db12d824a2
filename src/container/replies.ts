import { hasCode, messageOf, OperationError, PiSandboxError } from '../lib/errors.ts';
import type { FrameConnection, OpenReply, Status } from '../wire/index.ts';
import { ForeignVolumeError } from './sandbox-state.ts';

/** A peer that does not close its side gets this long after everything was said to it (rule 7). */
const LINGER_MS = 5_000;

/** Says that this connection is over, and lets go of it even if the peer never does. */
export async function finish(connection: FrameConnection): Promise<void> {
  // Whatever the peer still sends is of no interest, but its end must be noticed.
  connection.onFrame(() => undefined);
  await connection.end();
  setTimeout(() => connection.destroy(), LINGER_MS).unref();
}

export async function reply(connection: FrameConnection, value: OpenReply): Promise<void> {
  if (!connection.send({ type: 'reply', value })) await connection.drained();
}

/** What comes of a program that cannot be started: from Node with its code, from a terminal's making in words. */
function isNoRoomForProcess(error: unknown): boolean {
  const words = messageOf(error);
  return /forkpty/.test(words) || (hasCode(error, 'EAGAIN') && words.startsWith('spawn '));
}

class NoRoomForProcessError extends OperationError {
  constructor() {
    super('the sandbox has no room for another process (PIDS=)', {
      hint: 'pi-sandbox ps shows what is left over in it; pi-sandbox stop ends it',
    });
  }
}

/** A reply that is also the last word. */
export async function answer(connection: FrameConnection, value: OpenReply): Promise<void> {
  await reply(connection, value);
  await finish(connection);
}

/** A line for the user's standard error. */
export function tell(connection: FrameConnection, level: Status['level'], text: string): void {
  connection.send({ type: 'status', value: { level, text } });
}

export function refusal(cause: unknown): OpenReply {
  const error = isNoRoomForProcess(cause) ? new NoRoomForProcessError() : cause;
  const known = error instanceof PiSandboxError ? error : undefined;
  return {
    answer: 'refused',
    message: messageOf(error),
    exitCode: known?.exitCode ?? 1,
    ...(known?.hint === undefined ? {} : { hint: known.hint }),
    ...(error instanceof ForeignVolumeError ? { reason: 'foreign-volume' as const } : {}),
  };
}
