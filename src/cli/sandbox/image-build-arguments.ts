/** What the host hands to an image build besides the files: its proxy, npm registry and certificates (S10). */
import { execFile } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { promisify } from 'node:util';
import { ConfigError, messageOf } from '../../lib/errors.ts';
import type { ContextFile } from './image-context.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];
const MAX_BUNDLE = 8 * 1024 * 1024;
const REGISTRY_MS = 10_000;

/** The proxy variables under which builders know them; they stay out of the image and its history. */
export function proxyArguments(env: Environment): Record<string, string> {
  return Object.fromEntries(
    PROXY_VARIABLES.flatMap((name) => {
      const value = env[name];
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
}

/** A proxy on the host's loopback is reached from a build only over the host's own network. */
export function hasLoopbackProxy(proxies: Readonly<Record<string, string>>): boolean {
  return Object.entries(proxies).some(
    ([name, value]) =>
      !/^no_proxy$/i.test(name) &&
      /^(\w+:\/\/)?([^@/]*@)?(localhost|127\.[\d.]+|\[::1\])(:|\/|$)/i.test(value),
  );
}

/**
 * The user's npm registry, if npm says one that is fit for a build argument: one with credentials in it is left out,
 * since arguments stand in the history of the build's first stage.
 */
export async function npmRegistry(env: Environment): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('npm', ['config', 'get', 'registry'], {
      cwd: homedir(), // not the project's own .npmrc
      env: { ...env },
      timeout: REGISTRY_MS,
    });
    const url = new URL(stdout.trim());
    const fit =
      /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' && url.search === '';
    return fit ? url.href : undefined;
  } catch {
    return undefined; // no npm on this machine: the image's own npm has its default
  }
}

/**
 * The host's certificate bundle as a file of the context. Only the stage that downloads packages sees it.
 *
 * @throws ConfigError when the file is not a readable bundle.
 */
export function certificateFile(path: string | undefined): ContextFile[] {
  if (path === undefined) return [];
  try {
    const { size } = statSync(path);
    if (size > MAX_BUNDLE) throw new Error(`more than ${MAX_BUNDLE / 1024 / 1024} MiB`);
    const content = readFileSync(path);
    if (!content.includes('-----BEGIN CERTIFICATE-----'))
      throw new Error('no certificate in PEM format in it');
    return [{ path: 'docker/ca-certificates.crt', content, executable: false }];
  } catch (error) {
    throw new ConfigError(path, `not usable as certificates for the image build: ${messageOf(error)}`, {
      hint: 'set CA_CERTIFICATES to a PEM file, or unset NODE_EXTRA_CA_CERTS and SSL_CERT_FILE',
    });
  }
}
