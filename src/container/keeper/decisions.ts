import type { Decisions } from '../../agent-dir/index.ts';

/** As pi writes them: sorted, two spaces. */
export function renderDecisions(decisions: Decisions): string {
  const sorted = [...decisions].sort(([a], [b]) => (a < b ? -1 : 1));
  return `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`;
}

export function sameDecisions(a: Decisions, b: Decisions): boolean {
  return a.size === b.size && [...a].every(([path, decision]) => b.get(path) === decision);
}

/** What was decided in `own` since `base`, on top of what stands in `shared` now. */
export function carryOver(base: Decisions, own: Decisions, shared: Decisions): Decisions {
  const next = new Map(shared);
  for (const path of new Set([...base.keys(), ...own.keys()])) {
    const decision = own.get(path);
    if (decision === base.get(path)) continue;
    if (decision === undefined) next.delete(path);
    else next.set(path, decision);
  }
  return next;
}
