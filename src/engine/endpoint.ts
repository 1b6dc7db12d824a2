import { existsSync } from 'node:fs';
import path from 'node:path';
import { UsageError } from '../lib/errors.ts';

/** PEM files of a TLS connection, still as paths: they are read when connecting. */
export interface TlsFiles {
  ca?: string;
  cert?: string;
  key?: string;
  /** False accepts any certificate (a context made with SkipTLSVerify). */
  verify: boolean;
}

/** Where an engine listens. */
export type Endpoint =
  | { kind: 'unix'; socketPath: string }
  | { kind: 'tcp'; host: string; port: number; tls?: TlsFiles }
  | { kind: 'ssh'; host: string; port?: number; user?: string; socketPath?: string };

/** The address as a user would write it; for sockets just the path, which is what one looks for. */
export function addressOf(endpoint: Endpoint): string {
  switch (endpoint.kind) {
    case 'unix':
      return endpoint.socketPath;
    case 'tcp':
      return `tcp://${endpoint.host}:${endpoint.port}`;
    case 'ssh':
      return `ssh://${endpoint.user ? `${endpoint.user}@` : ''}${endpoint.host}${endpoint.port ? `:${endpoint.port}` : ''}`;
  }
}

const FORMS = 'unix:///path, tcp://host:port or ssh://user@host';

/**
 * Reads an engine URL as docker's `DOCKER_HOST` has it.
 * @param where names the flag, variable or context it came from, for the message
 * @throws UsageError naming `where` and what is allowed
 */
export function parseEndpoint(where: string, url: string, tls?: TlsFiles): Endpoint {
  if (url.startsWith('/')) return { kind: 'unix', socketPath: url };
  if (url.startsWith('unix://')) {
    const socketPath = url.slice('unix://'.length);
    if (!socketPath.startsWith('/')) throw new UsageError(`${where}: ${url} names no absolute socket path`);
    return { kind: 'unix', socketPath };
  }
  if (url.startsWith('npipe:')) {
    throw new UsageError(`${where}: ${url} is a Windows named pipe, which pi-sandbox cannot use`, {
      hint: 'run pi-sandbox inside WSL, with the engine socket of the distribution',
    });
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed?.hostname)
    throw new UsageError(`${where}: ${url} is not an engine address`, { hint: `allowed: ${FORMS}` });
  return fromUrl(where, url, parsed, tls);
}

function fromUrl(where: string, url: string, parsed: URL, tls: TlsFiles | undefined): Endpoint {
  const host = parsed.hostname.replace(/^\[|\]$/g, '');
  // A host that starts with a dash would be read as an option by ssh.
  if (host.startsWith('-')) throw new UsageError(`${where}: ${url} names no valid host`);
  switch (parsed.protocol) {
    case 'tcp:':
    case 'http:':
    case 'https:': {
      const secure = tls !== undefined || parsed.protocol === 'https:' || parsed.port === '2376';
      const port = parsed.port ? Number(parsed.port) : secure ? 2376 : 2375;
      return { kind: 'tcp', host, port, ...(secure ? { tls: tls ?? { verify: true } } : {}) };
    }
    case 'ssh:':
      return {
        kind: 'ssh',
        host,
        ...(parsed.port ? { port: Number(parsed.port) } : {}),
        ...(parsed.username ? { user: decodeURIComponent(parsed.username) } : {}),
        ...(parsed.pathname.length > 1 ? { socketPath: parsed.pathname } : {}),
      };
    default:
      throw new UsageError(`${where}: ${url} is not an engine address`, { hint: `allowed: ${FORMS}` });
  }
}

/** The PEM files docker would use from a directory: those that are there. */
export function tlsFilesIn(
  dir: string,
  verify: boolean,
): { ca?: string; cert?: string; key?: string; verify: boolean } {
  const present = (['ca', 'cert', 'key'] as const)
    .map((part) => [part, path.join(dir, `${part}.pem`)] as const)
    .filter(([, file]) => existsSync(file));
  return { ...Object.fromEntries(present), verify };
}
