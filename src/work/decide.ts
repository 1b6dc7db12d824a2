/**
 * Which runs go: arithmetic alone, facts in and decisions out (W7). What a scan did not see is in no fact, and so is no
 * reason for anything: what it saw goes only where that alone is too old, too many or too large.
 */
import type { RemovalReason, WorkRetention } from './types.ts';

const DAY_MS = 86_400_000;
/** A use later than that is one of a clock that was wrong. */
const AHEAD_MS = DAY_MS;
/** Parts them by their own order still, and moves none of them by more than minutes. */
const SQUEEZE = 1e-6;

export interface RunAge {
  /** Distinguishes the runs that are decided on together. */
  readonly id: string;
  /** Somebody holds it, or that cannot be told. */
  readonly active: boolean;
  /** Milliseconds, see {@link countsAsUsed}. */
  readonly lastUse: number;
}

export interface RunFacts extends RunAge {
  /** Disk that it takes. `complete` false: it was not measured to its end, and `bytes` is what was seen. */
  readonly size: { readonly bytes: number; readonly complete: boolean };
}

export interface Decision {
  readonly id: string;
  readonly why: Exclude<RemovalReason, 'asked'>;
}

/**
 * When a run counts as used. A clock that once was far ahead leaves times in the future: such a run is as old as one may
 * be and still stay, so that it does not push out what is fresh until that future comes; and it does not go for its age,
 * since it may be now that the clock is wrong.
 *
 * @param lastUse milliseconds, as {@link RunAge.lastUse} and `now`
 */
export function countsAsUsed(
  lastUse: number,
  { maxAgeDays }: Pick<WorkRetention, 'maxAgeDays'>,
  now: number,
): number {
  const ahead = lastUse - now;
  return ahead <= AHEAD_MS ? lastUse : now - maxAgeDays * DAY_MS + ahead * SQUEEZE;
}

/** All decisions of one tenant. */
export function decide(runs: readonly RunFacts[], policy: WorkRetention, now: number): Decision[] {
  const first = pastAgeOrCount(runs, policy, now);
  const gone = new Set(first.map(({ id }) => id));
  return [
    ...first,
    ...overSize(
      runs.filter(({ id }) => !gone.has(id)),
      policy.maxBytes,
    ),
  ];
}

/** What goes for its age, and then what goes for there being newer ones enough. Sizes need not be known for it. */
export function pastAgeOrCount(
  runs: readonly RunAge[],
  { maxAgeDays, maxRuns }: Pick<WorkRetention, 'maxAgeDays' | 'maxRuns'>,
  now: number,
): Decision[] {
  const inactive = runs.filter(({ active }) => !active).sort(newestFirst);
  const isOld = ({ lastUse }: RunAge): boolean => now - lastUse > maxAgeDays * DAY_MS;
  const old = inactive.filter(isOld);
  const beyond = inactive.filter((run) => !isOld(run)).slice(maxRuns);
  // The oldest first: whatever ends the prune early, the newer ones are left.
  return [
    ...old.toReversed().map(({ id }): Decision => ({ id, why: 'age' })),
    ...beyond.toReversed().map(({ id }): Decision => ({ id, why: 'count' })),
  ];
}

/**
 * What goes for its size: each that could not be measured, for then it alone is over the budget; and of the others as
 * long as they are over it together, the largest one that alone would bring them under it, else the oldest. What turns
 * out to fit after all stays, the newest first: so many small runs do not go in vain before a few huge ones.
 */
export function overSize(
  runs: readonly RunFacts[],
  maxBytes: number,
  why: 'bytes' | 'total' = 'bytes',
): Decision[] {
  const inactive = runs.filter(({ active }) => !active);
  const unmeasured = inactive.filter(({ size }) => !size.complete);
  const measured = inactive.filter(({ size }) => size.complete).sort(newestFirst);
  let total = measured.reduce((bytes, { size }) => bytes + size.bytes, 0);
  const going = new Set<RunFacts>();
  const nextOldest = cursor(measured.toReversed(), going);
  const nextLargest = cursor(measured.toReversed().sort(largestFirst), going);
  while (total > maxBytes) {
    const largest = nextLargest();
    const run = largest && largest.size.bytes >= total - maxBytes ? largest : nextOldest();
    if (run === undefined) break;
    going.add(run);
    total -= run.size.bytes;
  }
  const kept = new Set<RunFacts>();
  for (const run of [...going].sort(newestFirst)) {
    if (total + run.size.bytes > maxBytes) continue;
    kept.add(run);
    total += run.size.bytes;
  }
  return [
    ...unmeasured.map(({ id }): Decision => ({ id, why: 'unmeasured' })),
    ...[...going].filter((run) => !kept.has(run)).map(({ id }): Decision => ({ id, why })),
  ];
}

/** Gives the first that is not going yet, again and again. */
function cursor(order: readonly RunFacts[], going: ReadonlySet<RunFacts>): () => RunFacts | undefined {
  let at = 0;
  return () => {
    for (let run = order[at]; run !== undefined; run = order[++at]) if (!going.has(run)) return run;
    return undefined;
  };
}

/** Of several as large the order before stays, which is the oldest first. */
function largestFirst(a: RunFacts, b: RunFacts): number {
  return b.size.bytes - a.size.bytes;
}

function newestFirst(a: RunAge, b: RunAge): number {
  return b.lastUse - a.lastUse || (a.id < b.id ? -1 : 1);
}
