/** The socket a runner listens on (J9). Whatever comes over it, the runner stays up. */
import { type LineServer, openLineServer } from '../../lib/line-server.ts';
import type { JobDirectory, JobsPlace } from '../places.ts';
import {
  type ControlAnswer,
  type ControlErrorCode,
  type ControlRequest,
  MAX_LINE_BYTES,
  type Notice,
  PROTOCOL_VERSION,
  parseRequest,
} from './protocol.ts';
import { jobSocket } from './socket-path.ts';

/** Answers a request. What it throws becomes an answer that says so. */
export type RequestHandler = (request: ControlRequest) => Promise<ControlAnswer>;

export type ControlServer = LineServer<Notice>;

export interface ControlServerOptions {
  readonly place: JobsPlace;
  readonly directory: JobDirectory;
  readonly handle: RequestHandler;
  /** The first notices of one that begins to watch. */
  readonly greeting: () => readonly Notice[];
  readonly idleMs?: number;
}

/**
 * Listens on the job's socket. One that lies there already is a dead runner's, for this one holds the job's lock.
 *
 * @throws FileError when it cannot be bound
 */
export function openControlServer({
  place,
  directory,
  handle,
  greeting,
  idleMs,
}: ControlServerOptions): Promise<ControlServer> {
  return openLineServer({
    place: jobSocket(place, directory),
    maxLineBytes: MAX_LINE_BYTES,
    version: PROTOCOL_VERSION,
    parse: parseRequest,
    handle,
    refuse: problem,
    watches: ({ op }) => op === 'watch',
    greeting,
    idleMs,
  });
}

export function problem(code: ControlErrorCode, message: string): ControlAnswer {
  return { ok: false, error: { code, message } };
}
