import { setImmediate } from 'node:timers/promises';

/** So long the event loop may wait for a piece of a walk. */
const PIECE_MS = 12;

/**
 * Gives way to the event loop from time to time: `if (turn.due()) await turn.give()`. The walks are synchronous, for
 * a promise per file costs more than the file; a supervisor goes on living beside them all the same.
 */
export function turns(signal?: AbortSignal): { due(): boolean; give(): Promise<void> } {
  let since = performance.now();
  return {
    due: () => performance.now() - since > PIECE_MS,
    async give() {
      await setImmediate();
      signal?.throwIfAborted();
      since = performance.now();
    },
  };
}
