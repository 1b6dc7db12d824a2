import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from '../../engine/index.ts';
import { OperationError } from '../../lib/errors.ts';
import { Channels, type ChannelsOptions, type FrameConnection, type RelayRequest } from '../../wire/index.ts';
import { askSupervisor } from './ask-supervisor.ts';

/** How long a supervisor may take to take a relay, or to answer again after the connection was lost. */
const OPEN_MS = 10_000;
const PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

export interface RelayPlan {
  readonly engine: Engine;
  /** The container's id, so that a later sandbox of the same name is never taken for this one. */
  readonly container: string;
  readonly request: RelayRequest;
  /** What the sandbox's programs reach through it. */
  readonly accept: ChannelsOptions['accept'];
  /** A relay is there, the first or another after the connection was lost. */
  readonly onConnected: (channels: Channels) => void;
  readonly debug: (line: string) => void;
  /** Ends the relay from our side. */
  readonly signal: AbortSignal;
}

/**
 * Keeps a relay to a sandbox for as long as the sandbox runs: a connection that is lost is made again (S10, S14).
 * Resolves when the sandbox has ended, or `signal` was given.
 *
 * @throws OperationError when the first connection cannot be made
 */
export async function keepRelay(plan: RelayPlan): Promise<'ended' | 'aborted'> {
  const { engine, container, signal } = plan;
  let pause = PAUSE_MS;
  for (let first = true; ; first = false) {
    const connection = await connect(plan);
    if (connection !== undefined) {
      pause = PAUSE_MS;
      await relayOver(plan, connection);
      plan.debug('the relay to the sandbox has ended');
    } else if (first) {
      throw new OperationError('the sandbox does not answer', { hint: 'pi-sandbox ps shows what it does' });
    }
    if (signal.aborted) return 'aborted';
    // An engine that does not answer says nothing about the container: only that it is gone ends the relay.
    const found = await engine.containers.inspect(container).catch(() => 'unknown' as const);
    if (found === undefined || (found !== 'unknown' && found.state !== 'running')) return 'ended';
    await sleep(pause, undefined, { signal }).catch(() => undefined);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    if (signal.aborted) return 'aborted';
  }
}

async function connect({ engine, container, request }: RelayPlan): Promise<FrameConnection | undefined> {
  const answer = await askSupervisor(engine, container, request, OPEN_MS).catch(() => undefined);
  return answer?.connection;
}

async function relayOver(plan: RelayPlan, connection: FrameConnection): Promise<void> {
  const end = (): void => connection.destroy();
  plan.signal.addEventListener('abort', end, { once: true });
  if (plan.signal.aborted) end();
  plan.onConnected(new Channels(connection, { side: 'host', accept: plan.accept }));
  await connection.closed;
  plan.signal.removeEventListener('abort', end);
}
