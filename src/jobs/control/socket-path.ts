/** Where a job's socket lies (J9). */
import { type SocketPlace, socketPath, throughSocketPath } from '../../lib/socket-path.ts';
import { type JobDirectory, type JobsPlace, socketDirectory, socketName } from '../places.ts';

export function jobSocket(place: JobsPlace, job: JobDirectory): SocketPlace {
  return { directory: socketDirectory(place), name: socketName(job), variable: 'XDG_STATE_HOME' };
}

export function socketFile(place: JobsPlace, job: JobDirectory): string {
  return socketPath(jobSocket(place, job));
}

/** As {@link throughSocketPath}, to a job's. */
export function withSocketPath<T>(place: JobsPlace, job: JobDirectory, use: (path: string) => T): T {
  return throughSocketPath(jobSocket(place, job), use);
}
