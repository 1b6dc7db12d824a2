/**
 * What passes between the sandbox and the user's machine beside programs' own streams: forwarded ports (S14), and the
 * user's SSH agent and git credentials (S10). The host opens a relay and either side opens channels in it.
 */
import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { relaySocket } from '../../agent-dir/index.ts';
import type { Clock } from '../../lib/clock.ts';
import { messageOf, OperationError } from '../../lib/errors.ts';
import {
  Channels,
  type FrameConnection,
  joinStreams,
  type RelayRequest,
  type RelayService,
} from '../../wire/index.ts';
import { reply } from '../replies.ts';

/** A program that asks before the host's relay is there, or while it reconnects, waits this long (S10). */
export const RELAY_WAIT_MS = 10_000;
/** A listener in the sandbox answers at once or is not there. */
const CONNECT_MS = 5_000;
/** Connections of one service that wait or are open at the same time (rule 7). */
const MAX_CONNECTIONS = 64;

/** Above every file: the first entry takes away the helpers that files name, so that nothing is stored inside. */
const CREDENTIAL_HELPER = {
  GIT_CONFIG_COUNT: '2',
  GIT_CONFIG_KEY_0: 'credential.helper',
  GIT_CONFIG_VALUE_0: '',
  GIT_CONFIG_KEY_1: 'credential.helper',
  GIT_CONFIG_VALUE_1: '/opt/pi-sandbox/bin/git-credential-relay',
};

export interface RelaysSettings {
  /** `XDG_RUNTIME_DIR` of the container. */
  readonly runtime: string;
  readonly clock: Clock;
  readonly note: (event: string, facts: Record<string, unknown>) => void;
  readonly waitMs?: number;
}

/** All relays of one sandbox. */
export class Relays {
  readonly #settings: RelaysSettings;
  readonly #servers = new Map<RelayService, Promise<Server>>();
  /** Relays that serve something, the newest last. */
  readonly #connected: { services: readonly RelayService[]; channels: Channels }[] = [];
  #changed = Promise.withResolvers<void>();

  constructor(settings: RelaysSettings) {
    this.#settings = settings;
  }

  /** Serves a relay of the host to its end. */
  async serve(connection: FrameConnection, { services }: RelayRequest): Promise<void> {
    await this.offer(services);
    const channels = new Channels(connection, {
      side: 'sandbox',
      accept: (target) => {
        if (target.to !== 'port') throw new OperationError('a sandbox has no such service');
        return connectHere(target.port);
      },
    });
    const relay = { services, channels };
    this.#connected.push(relay);
    await reply(connection, { answer: 'accepted' });
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
    await connection.closed;
    this.#connected.splice(this.#connected.indexOf(relay), 1);
  }

  /** Makes the sockets of these services, once; a program may connect before the host's relay does. */
  async offer(services: readonly RelayService[]): Promise<void> {
    for (const service of services) {
      const listening = this.#servers.get(service) ?? this.#listen(service);
      this.#servers.set(service, listening);
      await listening;
    }
  }

  async #listen(service: RelayService): Promise<Server> {
    const server = createServer({ allowHalfOpen: true }, (socket) => void this.#request(service, socket));
    server.maxConnections = MAX_CONNECTIONS;
    try {
      await listenAt(server, relaySocket(this.#settings.runtime, service));
    } catch (error) {
      this.#servers.delete(service);
      throw error;
    }
    server.on('error', (error) => this.#settings.note('relay-failed', { service, error: messageOf(error) }));
    return server;
  }

  /** Variables by which programs find the services that are offered. */
  environment(): Record<string, string> {
    const { runtime } = this.#settings;
    const agent = this.#servers.has('ssh-agent')
      ? { SSH_AUTH_SOCK: relaySocket(runtime, 'ssh-agent') }
      : undefined;
    return { ...agent, ...(this.#servers.has('git-credentials') ? CREDENTIAL_HELPER : undefined) };
  }

  close(): void {
    for (const server of this.#servers.values()) void server.then((made) => made.close());
  }

  async #request(service: RelayService, socket: Socket): Promise<void> {
    socket.on('error', () => undefined);
    try {
      const channels = await this.#relayOf(service);
      const channel = await channels.open({ to: 'service', service });
      this.#settings.note('relayed', { service });
      joinStreams(socket, channel);
    } catch (error) {
      this.#settings.note('relay-refused', { service, error: messageOf(error) });
      socket.destroy();
    }
  }

  async #relayOf(service: RelayService): Promise<Channels> {
    const { clock, waitMs = RELAY_WAIT_MS } = this.#settings;
    const late = new AbortController();
    const timeout = clock.sleep(waitMs, late.signal).then(
      () => 'late' as const,
      () => 'late' as const,
    );
    try {
      for (;;) {
        const found = this.#connected.findLast(({ services }) => services.includes(service));
        if (found !== undefined) return found.channels;
        if ((await Promise.race([this.#changed.promise, timeout])) === 'late') {
          throw new OperationError(`nothing on the user's machine answers for ${service}`);
        }
      }
    } finally {
      late.abort();
    }
  }
}

async function listenAt(server: Server, path: string): Promise<void> {
  mkdirSync(path.slice(0, path.lastIndexOf('/')), { recursive: true, mode: 0o700 });
  rmSync(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  chmodSync(path, 0o600);
}

/** Programs listen on one family or the other, and rarely say which. */
async function connectHere(port: number): Promise<Socket> {
  try {
    return await dial(port, '127.0.0.1');
  } catch {
    return dial(port, '::1').catch(() => {
      throw new OperationError(`nothing listens on port ${port} in the sandbox`);
    });
  }
}

function dial(port: number, host: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host, allowHalfOpen: true });
    socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error('no answer')));
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.setTimeout(0);
      socket.off('error', reject).on('error', () => undefined);
      resolve(socket);
    });
  });
}
