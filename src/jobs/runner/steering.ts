/** Putting texts into a turn, and telling whether they came in (J6). */
import type { Clock } from '../../lib/clock.ts';
import type { PiRpc } from '../../pi/index.ts';
import type { ControlAnswer } from '../control/protocol.ts';
import { problem } from '../control/server.ts';

/** So long it is waited for that pi takes a text in; a longer tool has it queued. */
const DELIVERY_MS = 1_000;
/** Texts that wait for their turn. */
const MOST_QUEUED = 100;

export interface Steering {
  put(client: PiRpc, type: 'steer' | 'follow-up', text: string): Promise<ControlAnswer>;
  /** A message of the user's is in the conversation; true for one that was put in here. */
  delivered(text: string): boolean;
  /** Texts that pi took and did not put in. */
  undelivered(): string[];
}

interface Queued {
  readonly text: string;
  arrived(): void;
}

export function openSteering(clock: Clock): Steering {
  const queue: Queued[] = [];

  function remove(entry: Queued): void {
    const at = queue.indexOf(entry);
    if (at !== -1) queue.splice(at, 1);
  }

  return {
    async put(client, type, text) {
      if (queue.length >= MOST_QUEUED) return problem('failed', `${MOST_QUEUED} texts wait already`);
      const { promise: arrived, resolve } = Promise.withResolvers<'delivered'>();
      const entry: Queued = { text, arrived: () => resolve('delivered') };
      queue.push(entry);
      const receipt = await (type === 'steer' ? client.steer(text) : client.followUp(text)).catch(
        (error: unknown) => {
          remove(entry);
          throw error;
        },
      );
      if (receipt !== 'queued') remove(entry);
      if (receipt === 'handled') return { ok: true, receipt: 'delivered' };
      // The turn ended meanwhile: it will be the last one of this pi.
      if (receipt !== 'queued') return { ok: true, receipt: 'not-running' };
      if (type === 'follow-up') return { ok: true, receipt: 'queued' };
      const over = new AbortController();
      const late = clock.sleep(DELIVERY_MS, over.signal).then(
        () => 'queued' as const,
        () => 'queued' as const,
      );
      const answer = await Promise.race([arrived, late]);
      over.abort();
      return { ok: true, receipt: answer };
    },
    delivered(text) {
      const entry = queue.find((waiting) => waiting.text === text);
      if (!entry) return false;
      remove(entry);
      entry.arrived();
      return true;
    },
    undelivered: () => queue.map(({ text }) => text),
  };
}
