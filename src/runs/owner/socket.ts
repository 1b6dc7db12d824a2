import type { SocketPlace } from '../../lib/socket-path.ts';
import {
  type RunDirectory,
  type RunsPlace,
  runSocketDirectory,
  runSocketName,
  STATE_DIR_VARIABLE,
} from '../places.ts';

/** Where the owner of a run listens. */
export function runSocket(place: RunsPlace, run: RunDirectory): SocketPlace {
  return { directory: runSocketDirectory(place), name: runSocketName(run), variable: STATE_DIR_VARIABLE };
}
