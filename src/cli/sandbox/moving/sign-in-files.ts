/** The sign-ins of a plain pi: read, looked at, and never printed (S10, S15). */
import { closeSync, fstatSync, readFileSync } from 'node:fs';
import { statChild } from '../../../lib/directory-entries.ts';
import { type DirectoryHandle, openChildFile } from '../../../lib/directory-handle.ts';
import { ConfigError, messageOf, OperationError } from '../../../lib/errors.ts';
import { MAX_SIGN_IN_BYTES, type SignInName, type SignIns } from '../../../wire/index.ts';
import { parseObject } from '../../config/index.ts';
import type { LeftFile } from './config-files.ts';

export const SHARED_SIGN_INS = ['auth.json', 'trust.json'] as const satisfies SignInName[];
export const DOMAIN_SIGN_IN = 'mcp-auth.json';

export interface FoundSignIns {
  readonly content: SignIns;
  readonly notes: readonly string[];
  readonly left: readonly LeftFile[];
}

/** @throws nothing for a single file: what cannot be read is in `left` */
export function signInsOf(directory: DirectoryHandle, path: string): FoundSignIns {
  const content: SignIns = {};
  const notes: string[] = [];
  const left: LeftFile[] = [];
  for (const name of [...SHARED_SIGN_INS, DOMAIN_SIGN_IN] as const) {
    try {
      const text = readText(directory, name);
      if (text === undefined) continue;
      const entries = Object.entries(parseObject(text, `${path}/${name}`));
      // As pi makes it: there is nothing in it.
      if (entries.length === 0) continue;
      if (name === 'trust.json' && entries.some(([, value]) => value !== null && typeof value !== 'boolean'))
        throw new OperationError(
          'it holds something that is no trust decision, which pi does not start with',
        );
      if (name === 'auth.json') notes.push(...commandsIn(entries));
      content[name] = text;
    } catch (error) {
      if (!(error instanceof ConfigError) && !(error instanceof OperationError)) throw error;
      left.push({ file: name, reason: messageOf(error) });
    }
  }
  return { content, notes, left };
}

/** Every domain can write the shared login, so a sandbox refuses to run what stands in it (docs/adr/0012). */
function commandsIn(entries: readonly [string, unknown][]): string[] {
  return entries.flatMap(([provider, value]) => {
    const key = typeof value === 'object' && value !== null && 'key' in value ? value.key : undefined;
    if (typeof key !== 'string' || !key.startsWith('!')) return [];
    return [
      `the key of ${provider} in auth.json is a command, which a sandbox does not run: put it into models.json of your configuration`,
    ];
  });
}

function readText(directory: DirectoryHandle, name: string): string | undefined {
  if (statChild(directory, name) === undefined) return undefined;
  const { fd } = openChildFile(directory, name);
  try {
    if (fstatSync(fd).size > MAX_SIGN_IN_BYTES) throw new OperationError('it is longer than 1 MiB');
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}
