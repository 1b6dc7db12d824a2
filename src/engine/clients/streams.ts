import type { Duplex, Readable, Writable } from 'node:stream';
import { demux, type StreamEnd } from '../demux.ts';

/** The three streams of a program in a container. Both outputs must be read or destroyed, or the program stalls. */
export interface ProgramStreams {
  /** `end()` is EOF for the program; its outputs go on. */
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
  /** How the connection ended, which does not say that the program did. */
  ended: Promise<StreamEnd>;
  /** Drops the connection; the program goes on. */
  disconnect(): void;
}

export function programStreams(connection: Duplex): ProgramStreams {
  return { stdin: connection, ...demux(connection), disconnect: () => connection.destroy() };
}
