import { createServer, type Server, type Socket } from 'node:net';
import type { Engine } from '../../engine/index.ts';
import { systemClock } from '../../lib/clock.ts';
import { hasCode, messageOf, OperationError, UsageError } from '../../lib/errors.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { type Channels, joinStreams } from '../../wire/index.ts';
import { openContext } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import { watchInterruptions } from '../sandbox/interruption.ts';
import { isOwnPeer, ownUsers } from '../sandbox/local-peer.ts';
import { keepRelay, sandboxEnd } from '../sandbox/relay.ts';
import { findSandbox } from '../sandbox/resolve-running.ts';
import { info, warn } from '../ui/report.ts';

export interface ForwardOptions extends GlobalOptions {
  domain?: string;
  verbose?: boolean;
}

interface ForwardedPort {
  /** 0 takes a free one. */
  local: number;
  remote: number;
}

/** More connections at once than the sandbox would take are not even accepted (rule 7). */
const MAX_CONNECTIONS = 200;

/**
 * Makes ports that something in a running sandbox listens on reachable on this machine's loopback address, without a
 * restart and without a network, until Ctrl-C or the sandbox's end (S14).
 */
export async function forward(words: readonly string[], options: ForwardOptions): Promise<number> {
  const { ports, project } = parseWords(words);
  const { config, engine, debug } = await openContext(options);
  const sandbox = await findSandbox(engine, config.INSTALLATION_PREFIX, project, options.domain);
  const interruptions = watchInterruptions();
  let channels: Channels | undefined;
  const servers = await Promise.all(ports.map((port) => listenLocally(port, () => channels)));
  try {
    const outcome = await keepRelay({
      end: sandboxEnd(engine, sandbox.id, { verb: 'relay', kind: 'forward', services: [] }),
      accept: async () => {
        throw new OperationError('a forward serves nothing');
      },
      onConnected: (made) => {
        if (channels === undefined) announce(servers, ports, sandbox.project);
        channels = made;
      },
      firstMs: 0,
      clock: systemClock,
      debug,
      signal: interruptions.signal,
    });
    if (outcome === 'ended') info(`the sandbox of ${sandbox.project} has ended, and the forward with it`);
  } finally {
    end(servers, engine);
  }
  return interruptions.exitCode() ?? 0;
}

/** Ports are numbers, alone or as `local:remote`; any other word is the project. */
function parseWords(words: readonly string[]): { ports: ForwardedPort[]; project: string | undefined } {
  const isPort = (word: string): boolean => /^(\d{1,5}:)?\d{1,5}$/.test(word);
  const projects = words.filter((word) => !isPort(word));
  if (projects.length > 1) {
    throw new UsageError(`forward takes ports and one project, not several: ${projects.join(', ')}`, {
      hint: 'a port is a number, or local:remote such as 8080:80',
    });
  }
  const ports = words.filter(isPort).map((word) => {
    const [first = 0, second] = word.split(':').map(Number);
    const port = { local: first, remote: second ?? first };
    if (port.remote < 1 || port.remote > 65_535 || port.local > 65_535)
      throw new UsageError(`${word} is not a port: 1 to 65535, or local:remote`);
    return port;
  });
  if (ports.length === 0) throw new UsageError('which port? pi-sandbox forward 3000, or 8080:3000');
  return { ports, project: projects[0] };
}

async function listenLocally(
  { local, remote }: ForwardedPort,
  channels: () => Channels | undefined,
): Promise<Server> {
  const allowed = ownUsers();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    socket.on('error', () => undefined);
    void serve(socket, remote, channels(), allowed);
  });
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const reason = hasCode(error, 'EADDRINUSE')
        ? 'is in use on this machine'
        : `cannot be opened: ${messageOf(error)}`;
      reject(
        new OperationError(`port ${local} ${reason}`, {
          hint: `choose another: 0:${remote} takes a free one`,
        }),
      );
    });
    server.listen({ port: local, host: '127.0.0.1' }, resolve);
  });
  // This process may have no file left for one connection more; those that are open go on.
  server.removeAllListeners('error').on('error', (error) => warn(`port ${local}: ${messageOf(error)}`));
  return server;
}

async function serve(
  socket: Socket,
  remote: number,
  channels: Channels | undefined,
  allowed: ReadonlySet<number>,
): Promise<void> {
  try {
    if (!(await isOwnPeer(socket, allowed)))
      throw new OperationError('another user of this machine was refused');
    if (channels === undefined) throw new OperationError('the sandbox does not answer yet');
    const channel = await channels.open({ to: 'port', port: remote });
    joinStreams(socket, channel);
    socket.resume();
  } catch (error) {
    warn(`port ${remote}: ${messageOf(error)}`);
    socket.resetAndDestroy();
  }
}

function announce(servers: readonly Server[], ports: readonly ForwardedPort[], project: string): void {
  servers.forEach((server, at) => {
    const address = server.address();
    const local = address !== null && typeof address === 'object' ? address.port : 0;
    process.stdout.write(
      `127.0.0.1:${local} -> port ${ports[at]?.remote ?? 0} of ${safeForTerminal(project)}\n`,
    );
  });
}

function end(servers: readonly Server[], engine: Engine): void {
  for (const server of servers) server.close();
  engine.close();
}
