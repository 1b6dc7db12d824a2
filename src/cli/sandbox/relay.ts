import type { Engine } from '../../engine/index.ts';
import type { Clock } from '../../lib/clock.ts';
import { OperationError, TimeoutError } from '../../lib/errors.ts';
import { Channels, type ChannelsOptions, type FrameConnection, type RelayRequest } from '../../wire/index.ts';
import { askSupervisor } from './ask-supervisor.ts';

/** How long a supervisor may take to take a relay, or to answer again after the connection was lost. */
const OPEN_MS = 10_000;
const PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
/** A relay that did not last so long was let go at once: no reason to hurry with the next one. */
const STEADY_MS = 5_000;
/** An engine that says nothing for so long is not waited for any longer (rule 7). */
const SILENT_MINUTES = 15;

/** The sandbox at the other end of a relay. */
export interface RelayEnd {
  /** A connection whose request was accepted; undefined when the sandbox does not answer in time. */
  readonly connect: () => Promise<FrameConnection | undefined>;
  /** `unknown`: the engine does not say, which is no word about the sandbox. */
  readonly look: () => Promise<'there' | 'ended' | 'unknown'>;
}

export interface RelayPlan {
  readonly end: RelayEnd;
  /** What the sandbox's programs reach through it. */
  readonly accept: ChannelsOptions['accept'];
  /** A relay is there, the first or another after the connection was lost. */
  readonly onConnected: (channels: Channels) => void;
  /** For how long the first connection is tried again; 0 is one attempt. */
  readonly firstMs: number;
  readonly clock: Clock;
  readonly debug: (line: string) => void;
  /** Ends the relay from our side. */
  readonly signal: AbortSignal;
}

/** @param container its id, so that a later sandbox of the same name is never taken for this one */
export function sandboxEnd(engine: Engine, container: string, request: RelayRequest): RelayEnd {
  return {
    async connect() {
      const answer = await askSupervisor(engine, container, request, OPEN_MS).catch(() => undefined);
      return answer?.connection;
    },
    async look() {
      const found = await engine.containers.inspect(container).catch(() => 'unknown' as const);
      if (found === 'unknown') return 'unknown';
      // A paused one goes on where it was, and one that is merely created is about to be started.
      const over = found === undefined || ['exited', 'dead', 'removing'].includes(found.state);
      return over ? 'ended' : 'there';
    },
  };
}

/**
 * Keeps a relay to a sandbox for as long as the sandbox runs: a connection that is lost is made again (S10, S14).
 * Resolves when the sandbox has ended, or `signal` was given.
 *
 * @throws OperationError when the first connection cannot be made; TimeoutError when the engine stays silent
 */
export async function keepRelay(plan: RelayPlan): Promise<'ended' | 'aborted'> {
  const { clock, end, signal } = plan;
  const began = clock.monotonic();
  let connected = false;
  let heard = began;
  for (let pause = PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const connection = await end.connect();
    if (connection !== undefined) {
      connected = true;
      const since = clock.monotonic();
      await relayOver(plan, connection);
      heard = clock.monotonic();
      if (heard - since >= STEADY_MS) pause = PAUSE_MS;
      plan.debug('the relay to the sandbox has ended');
    } else if (!connected && clock.monotonic() - began >= plan.firstMs) {
      throw new OperationError('the sandbox does not answer', { hint: 'pi-sandbox ps shows what it does' });
    }
    if (signal.aborted) return 'aborted';
    const state = await end.look();
    if (state === 'ended') return 'ended';
    if (state === 'there') heard = clock.monotonic();
    if (clock.monotonic() - heard >= SILENT_MINUTES * 60_000)
      throw new TimeoutError(`the engine has not answered for ${SILENT_MINUTES} minutes`);
    await clock.sleep(pause, signal).catch(() => undefined);
    if (signal.aborted) return 'aborted';
  }
}

async function relayOver(plan: RelayPlan, connection: FrameConnection): Promise<void> {
  const end = (): void => connection.destroy();
  plan.signal.addEventListener('abort', end, { once: true });
  if (plan.signal.aborted) end();
  plan.onConnected(new Channels(connection, { side: 'host', accept: plan.accept }));
  await connection.closed;
  plan.signal.removeEventListener('abort', end);
}
