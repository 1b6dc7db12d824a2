import type { Engine } from '../../engine/index.ts';
import { OperationError } from '../../lib/errors.ts';
import { type FrameConnection, type OpenRequest, SandboxStatus } from '../../wire/index.ts';
import type { ListedSandbox } from './find-sandboxes.ts';
import { open, readToken } from './greeting.ts';
import { BRIDGE } from './join-sandbox.ts';

/** A supervisor that does not answer in this time is shown as such and not waited for (S15). */
const ANSWER_MS = 2_000;

interface Answer {
  connection: FrameConnection;
  value: unknown;
}

/** Opens a connection to a running sandbox's supervisor; undefined when it does not answer in time. */
export async function askSupervisor(
  engine: Engine,
  container: string,
  request: OpenRequest,
  answerMs = ANSWER_MS,
): Promise<Answer | undefined> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), answerMs);
  try {
    // The engine may hang as well as what runs in the container: the exec is part of what is waited for.
    const tooLate = new Promise<undefined>((resolve) => {
      late.signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    return await Promise.race([ask(engine, container, request, late.signal), tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

async function ask(
  engine: Engine,
  container: string,
  request: OpenRequest,
  late: AbortSignal,
): Promise<Answer | undefined> {
  const session = await engine.containers.exec(container, { command: [BRIDGE] });
  if (session.outcome !== 'running') return undefined;
  session.stderr.resume();
  late.addEventListener('abort', () => session.disconnect(), { once: true });
  if (late.aborted) session.disconnect();
  const token = await readToken(session);
  const greeting =
    token === undefined ? undefined : await open(session, token, { request, onStatus: () => undefined });
  if (greeting?.answer === 'accepted' && !late.aborted)
    return { connection: greeting.connection, value: greeting.value };
  session.disconnect();
  return undefined;
}

/** For a program that cannot be started in a sandbox because nobody answers there; `start` is a command that would. */
export function notReached({ project, state }: ListedSandbox, start: string): OperationError {
  if (state !== 'running') {
    return new OperationError(`the sandbox of ${project} is not running`, { hint: `${start} starts it` });
  }
  return new OperationError(
    `the sandbox of ${project} does not answer: it is about to end, or has no room for another process (PIDS=)`,
    { hint: `try again; pi-sandbox stop ${project} ends it, and ${start} starts it anew` },
  );
}

/** What lives in a sandbox, or undefined when its supervisor does not answer. */
export async function statusOf(engine: Engine, container: string): Promise<SandboxStatus | undefined> {
  const answer = await askSupervisor(engine, container, { verb: 'status' }).catch(() => undefined);
  answer?.connection.destroy();
  const parsed = SandboxStatus.safeParse(answer?.value);
  return parsed.success ? parsed.data : undefined;
}
