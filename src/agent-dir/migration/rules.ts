/**
 * What the migration moves, and where to (W10): names that only older layouts used, so that whatever has such a name and
 * kind is known to be theirs. Everything else at the root stays, whatever it is.
 */

export interface Straggler {
  /** At the root of the agent directory. */
  readonly name: string;
  readonly kind: 'directory' | 'file';
  /** Its new place, below the agent directory. */
  readonly to: readonly [string, ...string[]];
  /** Entries of it that stay where they are. */
  readonly keep?: readonly string[];
}

/** `state/legacy-layout/`: what nothing reads any more, out of the way of what is read. */
const LEGACY = ['state', 'legacy-layout'] as const;

/** `state/migration-conflicts/<name>/`: what could not go to its new place because something else is there. */
export const CONFLICTS = ['state', 'migration-conflicts'] as const;

/** The directories that one straggler's entries go to: their place, and the one for collisions. */
export function placesOf({ name, kind, to }: Straggler): readonly (readonly string[])[] {
  return kind === 'file' ? [to.slice(0, -1), CONFLICTS] : [to, [...CONFLICTS, name]];
}

const STRAGGLERS: readonly Straggler[] = [
  { name: 'backups', kind: 'directory', to: ['state', 'backups', 'config'] },
  { name: 'resource-profiles', kind: 'directory', to: ['profiles', 'directories'] },
  { name: 'auto-learn', kind: 'directory', to: [...LEGACY, 'auto-learn'] },
  // pi keeps packages that were named with `-e` in tmp/extensions.
  { name: 'tmp', kind: 'directory', to: [...LEGACY, 'tmp'], keep: ['extensions'] },
  // What Windows puts beside a downloaded file, on a file system that takes the name literally.
  { name: 'auth.json:Zone.Identifier', kind: 'file', to: [...LEGACY, 'auth.json:Zone.Identifier'] },
];

const TRUST: Straggler = { name: 'trust.json', kind: 'file', to: ['state', 'trust.json'] };

/** @param trustInState for a pi that reads `state/trust.json`; stock pi 1.6 reads it at the root, and would lose it */
export function stragglers({ trustInState = false } = {}): readonly Straggler[] {
  return trustInState ? [...STRAGGLERS, TRUST] : STRAGGLERS;
}
