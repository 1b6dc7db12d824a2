/** The socket an owner listens on (R6, R8). Whatever comes over it, the owner stays up. */
import { type LineServer, openLineServer } from '../../lib/line-server.ts';
import type { HeldRun } from '../held-run.ts';
import {
  MAX_LINE_BYTES,
  parseRunRequest,
  RUN_PROTOCOL_VERSION,
  type RunAnswer,
  type RunNotice,
  type RunRequest,
} from '../protocol.ts';
import { runSocket } from './socket.ts';

export interface RunServer extends Pick<LineServer<RunNotice>, 'retire' | 'close'> {
  /** Tells all that watch that the files have something new. */
  notify(seq: number): void;
}

/** @throws FileError when it cannot be bound */
export async function openRunServer(
  { place, directory }: HeldRun,
  { handle, seq }: { handle: (request: RunRequest) => Promise<RunAnswer>; seq: () => number },
): Promise<RunServer> {
  const server = await openLineServer<RunRequest, RunAnswer, RunNotice>({
    place: runSocket(place, directory),
    maxLineBytes: MAX_LINE_BYTES,
    version: RUN_PROTOCOL_VERSION,
    parse: parseRunRequest,
    handle,
    refuse: (code, message) => ({
      ok: false,
      error: { code: code === 'failed' ? 'failed' : code === 'too-long' ? 'limit' : 'usage', message },
    }),
    watches: ({ op }) => op === 'watch',
    greeting: () => [noticeOf(seq())],
  });
  return {
    notify: (at) => server.notify(noticeOf(at)),
    retire: () => server.retire(),
    close: () => server.close(),
  };
}

function noticeOf(seq: number): RunNotice {
  return { version: RUN_PROTOCOL_VERSION, event: 'changed', seq };
}
