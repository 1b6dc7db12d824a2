/** When a tenant was last pruned, and the end of one in which nothing is left. */
import { constants } from 'node:fs';
import { entriesOf, removeEmptyChild, statChild, unlinkChild } from '../lib/directory-entries.ts';
import { type DirectoryHandle, openChildDirectory } from '../lib/directory-handle.ts';
import { PiSandboxError } from '../lib/errors.ts';
import { PRUNED_STAMP } from './layout.ts';
import type { Pruning } from './pruning.ts';
import { stampFile } from './stamp.ts';
import type { TenantName } from './survey.ts';

/** Says when the tenant was pruned; one with nothing in it goes, and its category if that was the last. */
export function tidyTenant({ root, own, now }: Pruning, { category, tenant }: TenantName): void {
  if (own === undefined) return;
  try {
    const parent = openChildDirectory(root, category);
    try {
      if (markOrEmpty(parent, tenant, now)) removeEmptyChild(parent, tenant);
    } finally {
      parent.close();
    }
    removeEmptyChild(root, category);
  } catch (error) {
    // Only a stamp or an empty directory.
    if (!(error instanceof PiSandboxError)) throw error;
  }
}

/** True when nothing is left in it. Whoever makes a run in it at this moment makes the tenant again. */
function markOrEmpty(parent: DirectoryHandle, tenant: string, now: Date): boolean {
  const directory = openChildDirectory(parent, tenant);
  try {
    for (const { name } of entriesOf(directory)) {
      if (name === PRUNED_STAMP) continue;
      stampFile(directory, PRUNED_STAMP, now, constants.O_WRONLY | constants.O_CREAT);
      return false;
    }
    if (statChild(directory, PRUNED_STAMP)) unlinkChild(directory, PRUNED_STAMP);
    return true;
  } finally {
    directory.close();
  }
}

/** Whether a tenant was pruned in the last so many milliseconds. */
export function wasPruned(tenant: DirectoryHandle, now: Date, withinMs: number): boolean {
  const stamp = statChild(tenant, PRUNED_STAMP);
  // One from the future is a clock's that was wrong.
  return stamp !== undefined && stamp.mtimeMs <= now.getTime() && now.getTime() - stamp.mtimeMs < withinMs;
}
