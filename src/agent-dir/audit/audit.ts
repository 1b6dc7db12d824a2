/**
 * A look at the root of an agent directory for what does not belong there (W12). It only reads, through the open directory
 * and no link, and never more than a stated number of entries: what it looks at may be hostile (rules 7, 8).
 */
import type { Dirent, Stats } from 'node:fs';
import { isAtomicTemporary } from '../../lib/atomic-file.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { entriesOf, statChild } from '../../lib/directory-entries.ts';
import { type DirectoryHandle, openChildDirectory } from '../../lib/directory-handle.ts';
import { PiSandboxError } from '../../lib/errors.ts';
import { findStragglers } from '../migration/look.ts';
import { stragglers } from '../migration/rules.ts';
import { isCanonical } from './canonical.ts';

/** Entries that one audit looks at, those below the root for their sizes among them. */
export const AUDIT_SCANS = 10_000;
/** Entries that one audit names. */
export const AUDIT_LISTS = 64;
const MAX_DEPTH = 64;
const WRITING_MS = 60_000;

export interface AuditEntry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'link' | 'other';
  /** Of a directory, of all files in it. */
  readonly bytes: number;
  /** Not all of it could be looked at: it is at least so large. */
  readonly atLeast: boolean;
  /** Milliseconds since it was changed, by its own time; negative for one of the future. */
  readonly ageMs: number;
  /** The migration moves it. */
  readonly migrates: boolean;
}

export interface AgentDirAudit {
  /** What does not belong there, by name; at most {@link AUDIT_LISTS}. */
  readonly entries: readonly AuditEntry[];
  /** Further ones that were seen. */
  readonly omitted: number;
  /** The root has more entries than were looked at. */
  readonly cut: boolean;
}

export interface AuditOptions {
  readonly clock?: Clock;
  /** Links are how a sandbox's own agent directory is made: there they are none of its entries. */
  readonly skipLinks?: boolean;
  readonly scans?: number;
}

/** @throws FileError when the directory cannot be read */
export function auditAgentDir(
  top: DirectoryHandle,
  { clock = systemClock, skipLinks = false, scans = AUDIT_SCANS }: AuditOptions = {},
): AgentDirAudit {
  const budget = { left: scans };
  const moving = new Set(findStragglers(top, stragglers(), { add: () => undefined }).map(({ name }) => name));
  const found: { name: string; kind: AuditEntry['kind'] }[] = [];
  let omitted = 0;
  let cut = false;
  for (const entry of entriesOf(top)) {
    if (budget.left-- === 0) {
      cut = true;
      break;
    }
    const kind = kindOf(entry);
    if (skipLinks && kind === 'link') continue;
    if (isCanonical(entry.name, kind) && !moving.has(entry.name)) continue;
    if (found.length < AUDIT_LISTS) found.push({ name: entry.name, kind });
    else omitted++;
  }
  const now = clock.now().getTime();
  const entries = found
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap(({ name, kind }): AuditEntry[] => {
      const facts = statChild(top, name);
      if (facts === undefined) return [];
      const ageMs = Math.round(now - facts.mtimeMs);
      // A file that is being written at this moment; one that a killed writer left is told a minute later.
      if (isAtomicTemporary(name) && ageMs < WRITING_MS) return [];
      return [{ name, kind, ...sizeOf(top, name, facts, budget), ageMs, migrates: moving.has(name) }];
    });
  return { entries, omitted, cut };
}

function kindOf(entry: Dirent): AuditEntry['kind'] {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  return entry.isSymbolicLink() ? 'link' : 'other';
}

interface Size {
  readonly bytes: number;
  readonly atLeast: boolean;
}

function sizeOf(
  parent: DirectoryHandle,
  name: string,
  facts: Stats,
  budget: { left: number },
  depth = 0,
): Size {
  if (!facts.isDirectory()) return { bytes: facts.isFile() ? facts.size : 0, atLeast: false };
  if (depth === MAX_DEPTH || budget.left <= 0) return { bytes: 0, atLeast: true };
  let directory: DirectoryHandle | undefined;
  let bytes = 0;
  let atLeast = false;
  try {
    directory = openChildDirectory(parent, name);
    for (const entry of entriesOf(directory)) {
      if (budget.left-- <= 0) return { bytes, atLeast: true };
      const below = statChild(directory, entry.name);
      if (below === undefined) continue;
      const size = sizeOf(directory, entry.name, below, budget, depth + 1);
      bytes += size.bytes;
      atLeast ||= size.atLeast;
    }
    return { bytes, atLeast };
  } catch (error) {
    // Closed to us, swapped, or another file system: what was seen is the least.
    if (error instanceof PiSandboxError) return { bytes, atLeast: true };
    throw error;
  } finally {
    directory?.close();
  }
}
