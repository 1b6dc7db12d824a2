/**
 * What of the shared login a plain pi can have (S15, rule 8). Every sandbox can write that file, and a plain pi runs a
 * key that begins with "!" as a command, on this machine and outside of any sandbox.
 */
import { ConfigError } from '../../../lib/errors.ts';
import { parseObject } from '../../config/index.ts';
import type { LeftFile } from './config-files.ts';

/** The content, as it is where nothing in it could be run; entries that could are left out and named. */
export function harmlessLogin(text: string): { content: string | undefined; left: LeftFile[] } {
  const file = 'auth.json';
  try {
    const entries = Object.entries(parseObject(text, file));
    const kept = entries.filter(([, entry]) => isHarmless(entry));
    const left = entries
      .filter(([, entry]) => !isHarmless(entry))
      .map(([provider]) => ({
        file: `${file}, ${provider}`,
        reason: 'a sandbox could have written it, and pi outside of one might run it: log in there anew',
      }));
    if (kept.length === 0) return { content: undefined, left };
    if (left.length === 0) return { content: text, left };
    return { content: `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`, left };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { content: undefined, left: [{ file, reason: error.message }] };
  }
}

/** No command anywhere in it, and no environment that the entry brings along. */
function isHarmless(entry: unknown): boolean {
  if (typeof entry === 'string') return !entry.trimStart().startsWith('!');
  if (typeof entry !== 'object' || entry === null) return true;
  return Object.entries(entry).every(([key, value]) => key !== 'env' && isHarmless(value));
}
