import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Engine } from '../../engine/index.ts';
import { type ListedSandbox, listSandboxes, matching, onlyOne } from './find-sandboxes.ts';

/** The one sandbox that a word on the command line means, among those the engine knows. */
export async function findSandbox(
  engine: Engine,
  prefix: string,
  word: string | undefined,
  domain: string | undefined,
): Promise<ListedSandbox> {
  const project = canonical(word ?? '.');
  const found = matching(await listSandboxes(engine, prefix), word ?? project, project, domain);
  return onlyOne(found, word ?? project);
}

/** The project may be gone while its sandbox still runs: then the path is taken as it was written. */
export function canonical(word: string): string {
  try {
    return realpathSync(word);
  } catch {
    return resolve(word);
  }
}
