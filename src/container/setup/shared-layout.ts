/**
 * What a sandbox does once when it comes to a shared volume that others use too: an older layout's entries go to their
 * places while nobody else is alive there, and then this sandbox is one of the living itself (W10).
 */
import {
  type LiveMark,
  type MigrationReport,
  markLive,
  migrateAgentDirLayout,
  pathsOf,
  type Roots,
  SHARED_AGENT_PLACE,
} from '../../agent-dir/index.ts';
import { writeFileAtomic } from '../../lib/atomic-file.ts';
import { type DirectoryHandle, openChildDirectory, openDirectory } from '../../lib/directory-handle.ts';
import { messageOf } from '../../lib/errors.ts';
import { LockTakenError } from '../../lib/kernel-lock.ts';

/** What other starts do here is mostly a handful of renames; and another domain could hold a lock for ever (S3). */
const WAIT_MS = 1_000;

type Note = (event: string, facts: Record<string, unknown>) => void;

/**
 * Never fails: what goes wrong is noted, and is no reason not to start, since another domain may have caused it (S3).
 *
 * @returns undefined when this sandbox could not be marked as alive
 */
export async function enterSharedVolume(roots: Roots, note: Note): Promise<LiveMark | undefined> {
  let top: DirectoryHandle | undefined;
  try {
    top = openSharedAgent(roots);
    tell(await migrateAgentDirLayout(top, { waitMs: WAIT_MS }), note);
  } catch (error) {
    note('setup-problem', { problem: `the shared volume's layout: ${messageOf(error)}` });
  }
  try {
    if (top === undefined) return undefined;
    const mark = await markLive(top, { waitMs: WAIT_MS });
    // For `pi-work migrate` in this sandbox, which is to leave its own mark aside.
    await writeFileAtomic(pathsOf(roots).liveMark, `${mark.place}\n`);
    return mark;
  } catch (error) {
    const reason = error instanceof LockTakenError ? 'another migration goes on' : messageOf(error);
    note('setup-problem', { problem: `not marked as alive on the shared volume: ${reason}` });
    return undefined;
  } finally {
    top?.close();
  }
}

/** Step by step and through no link: another domain writes here too. */
function openSharedAgent({ shared }: Roots): DirectoryHandle {
  let top = openDirectory(shared);
  for (const name of SHARED_AGENT_PLACE) {
    const parent = top;
    try {
      top = openChildDirectory(parent, name);
    } finally {
      parent.close();
    }
  }
  return top;
}

function tell({ outcome, busyWith, moved, conflicts, left, steps }: MigrationReport, note: Note): void {
  if (outcome === 'nothing') return;
  if (outcome === 'busy') note('layout-kept', { busyWith });
  else note('layout-migrated', { outcome, moved, conflicts, left, steps });
}
