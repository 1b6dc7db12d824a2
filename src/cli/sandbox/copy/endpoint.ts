import { lstatSync } from 'node:fs';
import { posix } from 'node:path';
import { UsageError } from '../../../lib/errors.ts';

/** One side of a copy: a path on this machine, a path in a sandbox, or a tar on a standard stream. */
export type Endpoint =
  | { readonly where: 'here'; readonly path: string }
  | { readonly where: 'sandbox'; readonly sandbox: string | undefined; readonly path: string }
  | { readonly where: 'stream' };

/**
 * Reads a word as `docker cp` does: what stands before the first colon is the sandbox (nothing or `.`: that of the
 * current directory), and its path counts from `/`, or with `~/` from the sandbox's home. A word that names something
 * here, or begins like a path (`/`, `./`, `../`) and names no directory before its colon, is a path on this machine.
 */
export function parseEndpoint(word: string): Endpoint {
  if (word === '-') return { where: 'stream' };
  const colon = word.indexOf(':');
  if (colon < 0 || exists(word)) return { where: 'here', path: word };
  const [before, path] = [word.slice(0, colon), word.slice(colon + 1)];
  if (/^\.{0,2}\//.test(before) && !exists(before)) return { where: 'here', path: word };
  if (path === '') throw new UsageError(`${word}: which path in the sandbox? such as ${word}/tmp/result`);
  return { where: 'sandbox', sandbox: before === '' ? undefined : before, path: inSandbox(path) };
}

/** Without `..` and needless slashes: a copy has the name that is left. A `/` or `/.` at the end means something, and stays. */
function inSandbox(path: string): string {
  const contents = path.endsWith('/.');
  let plain: string;
  if (path === '~' || path.startsWith('~/')) {
    const inHome = posix.normalize(`./${path.slice(2)}`);
    if (/^\.\.(\/|$)/.test(inHome)) throw new UsageError(`${path} leads out of the sandbox's home directory`);
    plain = /^\.\/?$/.test(inHome) ? '~' : `~/${inHome}`;
  } else plain = posix.normalize(`/${path}`);
  return contents ? `${plain.replace(/\/$/, '')}/.` : plain;
}

function exists(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}
