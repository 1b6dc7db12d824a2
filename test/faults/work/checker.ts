/**
 * Looks at a work root that nobody uses any more, after its last prune. It shares no code with the room: what a run is,
 * what may lie beside one, and what the log says it reads for itself. Arguments: the root, the journals of a crowd, how
 * many runs and bytes a tenant may keep; it prints what it found.
 */
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Found {
  /** What must not be. */
  wrong: string[];
  /** So many runs were ever acquired, and so many are there. */
  acquired: number;
  present: number;
}

/** The room's own names in a tenant that is at rest. */
const AT_REST = new Set(['.pi-work-pruned']);

export function check(root: string, journals: string, maxRuns: number, maxBytes: number): Found {
  const found: Found = { wrong: [], acquired: 0, present: 0 };
  const acquired = readJournals(journals, found);
  const present = new Set<string>();
  for (const category of namesIn(root)) {
    if (category === '.pi-work') continue;
    for (const tenant of namesIn(join(root, category))) {
      const place = join(category, tenant);
      for (const run of checkTenant(root, place, found, maxRuns, maxBytes)) present.add(run);
    }
  }
  const logged = logOf(join(root, '.pi-work'));
  for (const path of acquired) {
    const run = path.slice(root.length + 1);
    if (!present.has(run) && !logged.has(run))
      found.wrong.push(`${run} is gone, and the log has no word of it`);
  }
  found.acquired = acquired.size;
  found.present = present.size;
  return found;
}

function checkTenant(root: string, place: string, found: Found, maxRuns: number, maxBytes: number): string[] {
  const runs: string[] = [];
  let bytes = 0;
  for (const name of namesIn(join(root, place))) {
    const path = join(root, place, name);
    if (AT_REST.has(name)) continue;
    if (name.startsWith('.')) found.wrong.push(`${place}/${name} is left over`);
    else if (!isOwned(path, place, name)) found.wrong.push(`${place}/${name} is nobody’s`);
    else {
      runs.push(`${place}/${name}`);
      bytes += diskOf(path);
    }
  }
  if (runs.length > maxRuns) found.wrong.push(`${place} has ${runs.length} runs`);
  if (bytes > maxBytes) found.wrong.push(`${place} has ${bytes} bytes`);
  return runs;
}

function isOwned(path: string, place: string, name: string): boolean {
  try {
    const { version, category, tenant, runId } = JSON.parse(
      readFileSync(join(path, '.pi-work-run.json'), 'utf8'),
    );
    return version === 1 && `${category}/${tenant}` === place && runId === name;
  } catch {
    return false;
  }
}

function diskOf(path: string): number {
  let bytes = 0;
  for (const name of namesIn(path)) {
    const facts = lstatSync(join(path, name));
    bytes += facts.blocks * 512 + (facts.isDirectory() ? diskOf(join(path, name)) : 0);
  }
  return bytes;
}

function namesIn(path: string): string[] {
  return existsSync(path) ? readdirSync(path) : [];
}

function linesOf(file: string): Record<string, unknown>[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [JSON.parse(line)];
      } catch {
        // The last line of a process that was killed.
        return [];
      }
    });
}

function readJournals(directory: string, found: Found): Set<string> {
  const acquired = new Set<string>();
  for (const name of namesIn(directory)) {
    for (const line of linesOf(join(directory, name))) {
      if (typeof line.acquired === 'string') acquired.add(line.acquired);
      else if (line.busy === undefined) found.wrong.push(`${name}: ${JSON.stringify(line)}`);
    }
  }
  return acquired;
}

/** The runs whose removal the log announces. */
export function logOf(own: string): Set<string> {
  const removed = new Set<string>();
  for (const name of namesIn(own).filter((file) => file.startsWith('deletions.log'))) {
    for (const { event, run } of linesOf(join(own, name))) if (event === 'removing') removed.add(String(run));
  }
  return removed;
}

if (process.argv[2] === 'check') {
  const [, , , root = '', journals = '', runs, bytes] = process.argv;
  process.stdout.write(`${JSON.stringify(check(root, journals, Number(runs), Number(bytes)))}\n`);
}
