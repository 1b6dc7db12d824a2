/** What the jobs have used that a job started, and those that they started (J16). */
import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FileError } from '../../lib/file-error.ts';
import { isJobName } from '../names.ts';
import type { JobDirectory } from '../places.ts';
import { RECORD_FILE, readRecord } from '../record.ts';
import { addUsage, NO_USAGE, readUsage, type Usage } from '../usage.ts';

export interface Descendants {
  /** Together, so far; also of those that were removed since they were last looked at. @throws FileError */
  usage(): Promise<Usage>;
}

interface Known {
  /** Changes when another job takes the name. */
  readonly version: string;
  readonly parent: string | undefined;
}

/** Children are in their parent's project, so they lie beside it. Records are read once each. */
export function openDescendants(job: JobDirectory): Descendants {
  const directory = dirname(job);
  const known = new Map<JobDirectory, Known>();
  const used = new Map<string, Usage>();

  async function refresh(): Promise<void> {
    let names: string[];
    try {
      names = await readdir(directory);
    } catch (error) {
      throw new FileError('list', directory, error);
    }
    for (const name of names) {
      if (!isJobName(name)) continue;
      const child = join(directory, name);
      const version = versionOf(child);
      if (version === undefined || known.get(child)?.version === version) continue;
      const facts = await readRecord(child);
      const parent = facts.kind === 'job' ? (facts.record.parentJob ?? undefined) : undefined;
      known.set(child, { version, parent });
    }
  }

  /** By the chain of parents; one that leads in a circle leads nowhere. */
  function isBelow(child: JobDirectory): boolean {
    const met = new Set<JobDirectory>();
    let parent = known.get(child)?.parent;
    while (parent !== undefined && !met.has(parent)) {
      if (parent === job) return true;
      met.add(parent);
      parent = known.get(parent)?.parent;
    }
    return false;
  }

  return {
    async usage() {
      await refresh();
      for (const [child, { version }] of known) {
        if (child === job || !isBelow(child)) continue;
        const usage = await readUsage(child).catch(() => undefined);
        const key = `${child} ${version.split(' ')[0]}`;
        if (usage && usage.tokens.total >= (used.get(key)?.tokens.total ?? 0)) used.set(key, usage);
      }
      return [...used.values()].reduce(addUsage, NO_USAGE);
    },
  };
}

/** Its file's number first, which stays when `notifiedAt` is written into the directory. */
function versionOf(job: JobDirectory): string | undefined {
  const [directory, record] = [job, join(job, RECORD_FILE)].map((path) =>
    statSync(path, { throwIfNoEntry: false }),
  );
  return directory && record && `${directory.ino} ${record.ino} ${record.mtimeMs}`;
}
