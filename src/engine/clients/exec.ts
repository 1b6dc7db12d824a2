import { setTimeout as sleep } from 'node:timers/promises';
import { EngineError } from '../errors.ts';
import { pathOf, type Transport } from '../transport.ts';
import { object, text } from './fields.ts';
import { type ProgramStreams, programStreams } from './streams.ts';

export interface ExecRequest {
  command: readonly string[];
  /** Visible to nobody who inspects the container or the exec. */
  env?: Readonly<Record<string, string>>;
  user?: string;
  workdir?: string;
}

/**
 * The end of a stream is not the end of a program: `lost` means it still runs and the connection broke, `gone` that
 * the container is no more.
 */
export type ExecExit = { outcome: 'exited'; code: number } | { outcome: 'lost' } | { outcome: 'gone' };

export interface ExecSession extends ProgramStreams {
  outcome: 'running';
  execId: string;
  /** Waits for the end of the stream, then asks what it means. */
  exit(): Promise<ExecExit>;
}

/** `refused`: the container is not running, or is on its way out; the message is the engine's. */
export type ExecResult = ExecSession | { outcome: 'refused' | 'gone'; message: string };

/** An engine may need a moment to note the exit whose end of stream it has just sent. */
const EXIT_NOTED_MS = [0, 10, 30, 60, 150];

export async function startExec(transport: Transport, id: string, request: ExecRequest): Promise<ExecResult> {
  const body = {
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    Cmd: request.command,
    Env: Object.entries(request.env ?? {}).map(([key, value]) => `${key}=${value}`),
    ...(request.user === undefined ? {} : { User: request.user }),
    ...(request.workdir === undefined ? {} : { WorkingDir: request.workdir }),
  };
  const created = await transport.call({ method: 'POST', path: pathOf`/containers/${id}/exec`, body });
  if (created.status !== 201) return refusal(transport, id, created);
  const execId = text(object(created.json).Id);
  try {
    const start = {
      method: 'POST',
      path: pathOf`/exec/${execId}/start`,
      body: { Detach: false, Tty: false },
    } as const;
    const streams = programStreams(await transport.upgrade(start));
    return {
      outcome: 'running',
      execId,
      ...streams,
      async exit() {
        await streams.ended;
        return execExit(transport, execId);
      },
    };
  } catch (error) {
    if (!(error instanceof EngineError) || error.status === undefined) throw error;
    return refusal(transport, id, { status: error.status, message: error.message });
  }
}

async function execExit(transport: Transport, execId: string): Promise<ExecExit> {
  for (const delay of EXIT_NOTED_MS) {
    if (delay > 0) await sleep(delay);
    const answer = await transport.call({ method: 'GET', path: pathOf`/exec/${execId}/json` });
    if (answer.status === 404) return { outcome: 'gone' };
    if (answer.status !== 200) throw transport.failure('cannot ask how the program ended', answer);
    // While running the code is null on Docker and 0 on Podman, so only `Running` counts.
    const { Running, ExitCode } = object(answer.json);
    if (Running === false && typeof ExitCode === 'number') return { outcome: 'exited', code: ExitCode };
  }
  return { outcome: 'lost' };
}

/** Docker answers 409, 404 or 500 for a container that is going, Podman 500, 404 or 409. */
function refusal(transport: Transport, id: string, answer: { status: number; message: string }): ExecResult {
  const { status, message } = answer;
  if (status === 404) return { outcome: 'gone', message };
  if (status === 409 || status === 500) return { outcome: 'refused', message };
  throw transport.failure(`cannot run a program in container ${id}`, { ...answer, json: undefined });
}
