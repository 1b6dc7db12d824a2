import type { Duplex } from 'node:stream';

/** Copies bytes both ways; the end of one direction is the end of that direction only, a failure ends both. */
export function joinStreams(one: Duplex, other: Duplex): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.pipe(to);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      // Closed before its end: nobody will say `end` to the other any more.
      if (!from.readableEnded) to.destroy();
    });
  }
}
