/**
 * The process on the user's machine that serves a sandbox's relays (S10). It is one of its own, since a Session and the
 * shells beside it outlive the command that asked for the relay; it ends with the sandbox.
 */
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { Duplex } from 'node:stream';
import type { Engine } from '../../engine/index.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { OperationError } from '../../lib/errors.ts';
import { isHeld, type KernelLock, LockTakenError, takeLock } from '../../lib/kernel-lock.ts';
import type { ChannelsOptions, RelayService } from '../../wire/index.ts';
import { onlyUsingKeys } from './agent-requests.ts';
import { answerQuestion } from './git-credentials.ts';
import { keepRelay, sandboxEnd } from './relay.ts';
import {
  lockOf,
  type RelayState,
  readRelayState,
  relayFile,
  removeOldStates,
  removeRelayState,
  type ServiceOffer,
  writeRelayState,
} from './relay-state.ts';

/** A sandbox that comes up, or whose engine does, answers in this time or not at all. */
const FIRST_MS = 120_000;

/** A running sandbox, and where what is relayed to it is written down. */
export interface RelayedSandbox {
  /** The configuration directory. */
  readonly directory: string;
  readonly container: string;
  readonly name: string;
  readonly engine: Engine;
  /** `--engine`, as it was given. */
  readonly chosen: string | undefined;
  /** Whose processes this command has started already: until one has its lock, it looks as if nobody served. */
  readonly started: Set<string>;
}

/** Makes sure that a relay process serves this to the sandbox, and that it serves what was asked for last. */
export async function ensureRelay(sandbox: RelayedSandbox, offer: ServiceOffer): Promise<void> {
  const { directory, container, name, engine } = sandbox;
  const state = { container, sandbox: name, engine: engine.address, ...offer };
  if (sandbox.started.has(relayFile(directory, state))) return;
  startRelay(sandbox, await writeRelayState(directory, state));
}

/**
 * Makes sure that what was relayed before goes on: its process may have been killed, or the container made anew. What a
 * running one serves is not touched, for another start may have changed it meanwhile.
 */
export async function continueRelay(sandbox: RelayedSandbox, before: RelayState): Promise<void> {
  const { service, agentSocket, hosts } = before;
  if (before.container !== sandbox.container) {
    return ensureRelay(sandbox, { service, agentSocket, hosts });
  }
  const file = relayFile(sandbox.directory, before);
  if (!sandbox.started.has(file) && !isHeld(lockOf(file))) startRelay(sandbox, file);
}

function startRelay({ directory, chosen, started }: RelayedSandbox, file: string): void {
  started.add(file);
  const [, script = ''] = process.argv;
  const engine = chosen === undefined ? [] : ['--engine', chosen];
  const child = spawn(process.execPath, [script, ...engine, '__relay', file], {
    detached: true,
    stdio: 'ignore',
    cwd: '/',
    env: { ...process.env, PI_SANDBOX_CONFIG_DIR: directory },
  });
  child.once('error', () => undefined);
  child.unref();
}

/**
 * The whole life of a relay process: nothing if another one serves this sandbox already.
 *
 * @throws OperationError, TimeoutError when it gives up; what it served is then still written down
 */
export async function serveRelay(
  file: string,
  engine: Engine,
  signal: AbortSignal,
  clock: Clock = systemClock,
): Promise<void> {
  const lock = await lockUnlessServed(file);
  if (lock === undefined) return;
  // Others' leftovers are no reason to serve later, or not at all.
  const cleaned = removeOldStates(engine, file, signal).catch(() => undefined);
  try {
    const { container, service, engine: address } = await readRelayState(file);
    // To this one the container would look gone.
    if (address !== engine.address)
      throw new OperationError(`its sandbox is on ${address}, and the engine found now is ${engine.address}`);
    const outcome = await keepRelay({
      end: sandboxEnd(engine, container, { verb: 'relay', kind: 'services', services: [service] }),
      accept: serviceOf(file, service),
      onConnected: () => undefined,
      firstMs: FIRST_MS,
      clock,
      debug: () => undefined,
      signal,
    });
    if (outcome === 'ended') await removeRelayState(file);
  } finally {
    lock.release();
    await cleaned;
  }
}

/** Waits out whoever merely looks whether it is held. */
async function lockUnlessServed(file: string): Promise<KernelLock | undefined> {
  try {
    return await takeLock(lockOf(file));
  } catch (error) {
    if (error instanceof LockTakenError) return undefined;
    throw error;
  }
}

/** What a channel of the sandbox leads to: what is written down at that moment. */
function serviceOf(file: string, service: RelayService): ChannelsOptions['accept'] {
  return async (target) => {
    if (target.to !== 'service' || target.service !== service)
      throw new OperationError('this relay does not serve that');
    const { agentSocket = '', hosts = [] } = await readRelayState(file);
    return service === 'ssh-agent' ? dialAgent(agentSocket) : answerQuestion(hosts, process.env);
  };
}

function dialAgent(path: string): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, allowHalfOpen: true });
    socket.once('error', () => reject(new OperationError("the user's SSH agent does not answer")));
    socket.once('connect', () => {
      const requests = onlyUsingKeys();
      requests.pipe(socket);
      resolve(Duplex.from({ writable: requests, readable: socket }).on('error', () => undefined));
    });
  });
}
