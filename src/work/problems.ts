/** What a report says of things that stay where they are (rule 7). */
import { addOver, type Bounded } from '../lib/bounded-list.ts';
import type { WorkProblem } from './types.ts';

/** Planted files by the hundred must not hide that something failed. */
const MINOR: ReadonlySet<WorkProblem['kind']> = new Set(['foreign', 'unowned']);

/** In a full list what failed takes the place of what is only not ours. */
export function addProblem(list: Bounded<WorkProblem>, problem: WorkProblem): void {
  addOver(list, problem, ({ kind }) => MINOR.has(kind));
}
