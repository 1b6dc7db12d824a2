/** What a migration did, bounded (rule 7). Paths are below the agent directory. */

export type MigrationStep =
  | { readonly what: 'moved'; readonly from: string; readonly to: string }
  /** Something else was at its new place; both are kept. */
  | { readonly what: 'conflict'; readonly from: string; readonly to: string }
  | { readonly what: 'left'; readonly from: string; readonly reason: string };

export interface MigrationReport {
  /**
   * `busy`: nothing was looked at, since something else lives on this directory. `incomplete`: there is more than one
   * run moves; the next one goes on.
   */
  readonly outcome: 'nothing' | 'done' | 'incomplete' | 'busy';
  /** Who or what is in the way, when busy. */
  readonly busyWith: string | undefined;
  readonly moved: number;
  readonly conflicts: number;
  readonly left: number;
  /** The first {@link LISTED} of them. */
  readonly steps: readonly MigrationStep[];
}

export const LISTED = 64;

/** Counts the steps of one run and keeps the first of them. */
export class Steps {
  readonly steps: MigrationStep[] = [];
  moved = 0;
  conflicts = 0;
  left = 0;
  /** A bound was reached. */
  incomplete = false;

  add(step: MigrationStep): void {
    if (step.what === 'moved') this.moved++;
    else if (step.what === 'conflict') this.conflicts++;
    else this.left++;
    if (this.steps.length < LISTED) this.steps.push(step);
  }

  report(): MigrationReport {
    const { steps, moved, conflicts, left, incomplete } = this;
    const none = moved + conflicts + left === 0;
    const outcome = incomplete ? 'incomplete' : none ? 'nothing' : 'done';
    return { outcome, busyWith: undefined, moved, conflicts, left, steps };
  }
}
