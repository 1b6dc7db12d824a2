import { existsSync } from 'node:fs';
import path from 'node:path';
import { UsageError } from '../lib/errors.ts';
import { type Endpoint, parseEndpoint, tlsFilesIn } from './endpoint.ts';

/** What the search may look at; passed in, so that a test can make a world of its own. */
export interface EngineSearch {
  /** `--engine`: a docker context's name, an engine URL or a socket path. */
  engine?: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
  home: string;
  /** The socket of a rootful Docker Engine; only tests set it. */
  systemSockets?: readonly string[];
}

/** One place an engine may be. `explicit`: the user named it, so that its failure ends the search. */
export interface Candidate {
  strategy: string;
  endpoint: Endpoint;
  explicit: boolean;
}

/** A way to find an engine: its name is shown by `doctor` and in the message for none found. */
export interface Strategy {
  name: string;
  candidates(search: EngineSearch): Promise<Candidate[]>;
}

const byFlag: Strategy = {
  name: '--engine',
  async candidates(search) {
    const { engine } = search;
    if (engine === undefined) return [];
    if (engine === '')
      throw new UsageError('--engine: is empty', { hint: 'name a docker context or an engine URL' });
    return [
      { strategy: this.name, endpoint: await namedEndpoint('--engine', search, engine), explicit: true },
    ];
  },
};

const byDockerHost: Strategy = {
  name: 'DOCKER_HOST',
  async candidates(search) {
    const host = search.env.DOCKER_HOST;
    if (!host) return [];
    return [{ strategy: this.name, endpoint: dockerHostEndpoint(search, host), explicit: true }];
  },
};

const byContext: Strategy = {
  name: 'docker context',
  async candidates(search) {
    const named = search.env.DOCKER_CONTEXT;
    if (named === 'default') return [];
    const dir = configDir(search);
    // Most users have no docker config, and need nothing that reads it.
    if (!named && !existsSync(path.join(dir, 'config.json'))) return [];
    const { contextEndpoint, currentContext } = await import('./docker-context.ts');
    const name = named || (await currentContext(dir));
    if (name === undefined) return [];
    const where = named ? 'DOCKER_CONTEXT' : `current context in ${path.join(dir, 'config.json')}`;
    const endpoint = await contextEndpoint(where, dir, name);
    return [{ strategy: `${this.name} ${name}`, endpoint, explicit: true }];
  },
};

const byKnownSocket: Strategy = {
  name: 'known socket',
  async candidates(search) {
    return knownSockets(search).map((socketPath) => ({
      strategy: this.name,
      endpoint: { kind: 'unix', socketPath },
      explicit: false,
    }));
  },
};

/** In the order of S19. */
export const STRATEGIES: readonly Strategy[] = [byFlag, byDockerHost, byContext, byKnownSocket];

const SYSTEM_SOCKETS = ['/var/run/docker.sock', '/run/podman/podman.sock'];

/** Rootful, rootless, Docker Desktop, Colima, then Podman's two. */
export function knownSockets(search: EngineSearch): string[] {
  const [docker, podman] = search.systemSockets ?? SYSTEM_SOCKETS;
  const runtime = search.env.XDG_RUNTIME_DIR;
  return [
    docker,
    runtime && path.join(runtime, 'docker.sock'),
    path.join(search.home, '.docker/run/docker.sock'),
    path.join(search.home, '.docker/desktop/docker.sock'),
    path.join(search.home, '.colima/default/docker.sock'),
    runtime && path.join(runtime, 'podman/podman.sock'),
    podman,
  ].filter((socket): socket is string => typeof socket === 'string' && socket !== '');
}

/** What a user may write where an engine is expected: a URL, a socket path, or else a docker context. */
export async function namedEndpoint(where: string, search: EngineSearch, engine: string): Promise<Endpoint> {
  if (engine.startsWith('/') || engine.includes('://')) return parseEndpoint(where, engine, tlsOf(search));
  if (engine === 'default') return parseEndpoint(where, `unix://${SYSTEM_SOCKETS[0]}`);
  const { contextEndpoint } = await import('./docker-context.ts');
  return contextEndpoint(where, configDir(search), engine);
}

function dockerHostEndpoint(search: EngineSearch, host: string): Endpoint {
  // docker reads a bare host:port as tcp.
  const url = host.includes('://') || host.startsWith('/') ? host : `tcp://${host}`;
  return parseEndpoint('DOCKER_HOST', url, tlsOf(search));
}

function tlsOf(search: EngineSearch) {
  if (!search.env.DOCKER_TLS_VERIFY) return undefined;
  return tlsFilesIn(search.env.DOCKER_CERT_PATH || configDir(search), true);
}

function configDir(search: EngineSearch): string {
  return search.env.DOCKER_CONFIG || path.join(search.home, '.docker');
}
