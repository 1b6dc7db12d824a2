import type { Readable, Writable } from 'node:stream';
import { messageOf } from '../lib/errors.ts';
import { FrameConnection } from '../wire/index.ts';
import { GREETING_MS, greet, listen } from './listen.ts';
import { Supervisor, type SupervisorSettings } from './supervisor.ts';

export interface RunOptions extends SupervisorSettings {
  /** The client that made the container, on its standard streams; undefined when there is none. */
  first: { input: Readable; output: Writable } | undefined;
  greetingMs?: number;
}

/**
 * Runs a sandbox's supervisor to its end: listens for clients on the socket, and serves the client that made the
 * container on its standard input and output, so that a cold start needs no second exec.
 */
export async function runSupervisor(options: RunOptions): Promise<void> {
  const { first, roots, version, greetingMs = GREETING_MS } = options;
  const supervisor = new Supervisor(options);
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => void supervisor.end(`signal ${signal}`));
  }
  // What nobody foresaw ends the sandbox, and gives what lives in it time to save.
  const onFault = (error: unknown): void => {
    supervisor.note('internal-error', { error: error instanceof Error ? error.stack : messageOf(error) });
    void supervisor.end(`internal error: ${messageOf(error)}`);
  };
  process.on('uncaughtException', onFault);

  const greeting = {
    version,
    greetingMs,
    serve: supervisor.serve.bind(supervisor),
    onError: (error: string) => supervisor.note('request-failed', { error }),
  };
  if (first !== undefined) void greet(new FrameConnection(first), { ...greeting, token: undefined });
  await listen(roots, greeting);
  await supervisor.ended;
}
