/** How pi sees `auth.json` in a sandbox: without what another domain may have put there to lead its requests elsewhere. */
import { closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { hasCode } from '../lib/errors.ts';
import { isRecord, type Login, newParts, screen } from './login-parts.ts';

/** pi reads the file whole; a larger one is no login. */
const MAX_BYTES = 16 * 1024 * 1024;

export interface LoginFile {
  /** The file's text as pi may have it. */
  shown(text: string): string;
  /** The text to write when pi writes `text`: what was kept from it comes back, and what is new is remembered. */
  written(text: string): string;
}

/**
 * @param known a folder of the domain's: an empty file for each part that its own pi has written, named by the part's hash,
 * so that any number of them can be at it at once and none is ever torn
 * @param read the file's present text
 * @param tell told, by provider, what of a login is not used
 */
export function loginFile(
  known: string,
  read: () => string,
  tell: (provider: string, left: readonly string[]) => void,
): LoginFile {
  const isKnown = (hash: string): boolean => existsSync(`${known}/${hash}`);
  return {
    shown: (text) =>
      mapLogins(text, (provider, login) => {
        const { login: kept, left } = screen(provider, login, isKnown);
        if (left.length > 0) tell(provider, left);
        return kept;
      }),
    written(text) {
      const before = parse(read()) ?? {};
      return mapLogins(text, (provider, login) => {
        const found = before[provider];
        const there = isRecord(found) ? found : {};
        const { login: seen } = screen(provider, there, isKnown);
        // pi has not touched it.
        if (same(login, seen)) return there;
        for (const hash of newParts(provider, login, seen)) remember(known, hash);
        return login;
      });
    },
  };
}

/** The same text where nothing changes, and where it is none that pi could read: pi says what is wrong with it. */
function mapLogins(text: string, map: (provider: string, login: Login) => Login): string {
  const logins = parse(text);
  if (logins === undefined) return text;
  const mapped = Object.entries(logins).map(([provider, login]): [string, unknown] => [
    provider,
    isRecord(login) ? map(provider, login) : login,
  ]);
  // As pi writes it.
  const result = JSON.stringify(Object.fromEntries(mapped), undefined, 2);
  return result === JSON.stringify(logins, undefined, 2) ? text : result;
}

function same(a: Login, b: Login): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Bounded: the file is every domain's to write. */
export function isReadable(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true && stats.size <= MAX_BYTES;
}

function remember(known: string, hash: string): void {
  try {
    mkdirSync(known, { recursive: true, mode: 0o700 });
    closeSync(openSync(`${known}/${hash}`, 'a', 0o600));
  } catch (error) {
    // The login is written all the same, and has to be given again where its address is missed.
    if (!hasCode(error, 'ENOENT', 'ENOSPC', 'EDQUOT', 'EROFS', 'EACCES')) throw error;
  }
}
