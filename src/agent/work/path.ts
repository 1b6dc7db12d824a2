import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../../lib/errors.ts';
import { jsonText } from '../../lib/json-text.ts';
import { workSegment } from '../../work/index.ts';
import { workRoot } from './work-root.ts';

interface PathOptions {
  category: string | undefined;
  tenant: string | undefined;
  runId: string | undefined;
  json?: boolean;
}

/** Prints the path alone, for `cd "$(pi-work path jobs shop)"`. */
export async function path({ category, tenant, runId, json }: PathOptions): Promise<number> {
  const names: string[] = [];
  for (const [what, text] of [
    ['category', category],
    ['tenant', tenant],
    ['run id', runId],
  ] as const) {
    if (text !== undefined) names.push(workSegment(what, text));
  }
  const found = join(workRoot(), ...names);
  if (!json && /[\p{Cc}]/u.test(found)) throw new UsageError('the path has control characters: use --json');
  const text = json ? jsonText({ version: 1, path: found, exists: existsSync(found) }) : found;
  process.stdout.write(`${text}\n`);
  return 0;
}
