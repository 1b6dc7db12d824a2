/** Who started whom: jobs and those below them. */
import type { JobDirectory } from './places.ts';
import type { JobView } from './view.ts';

export interface JobTree {
  readonly job: JobView;
  readonly children: readonly JobTree[];
}

/** Jobs whose parent is not among them stand at the top; the order is kept. */
export function treesOf(jobs: readonly JobView[]): JobTree[] {
  const { children, tops } = byParent(jobs);
  // A parent that was started by its own child is a damaged record: each job stands in one place.
  const placed = new Set<JobDirectory>();
  const grow = (job: JobView): JobTree => {
    placed.add(job.directory);
    const below = (children.get(job.directory) ?? []).filter(({ directory }) => !placed.has(directory));
    return { job, children: below.map(grow) };
  };
  const trees = tops.map(grow);
  for (const job of jobs) if (!placed.has(job.directory)) trees.push(grow(job));
  return trees;
}

/** All below a job, the deepest first: so that nobody ends a parent before its children (J6). */
export function below(jobs: readonly JobView[], directory: JobDirectory): JobView[] {
  const { children } = byParent(jobs);
  const found: JobView[] = [];
  const seen = new Set([directory]);
  const walk = (parent: JobDirectory): void => {
    for (const job of children.get(parent) ?? []) {
      if (seen.has(job.directory)) continue;
      seen.add(job.directory);
      walk(job.directory);
      found.push(job);
    }
  };
  walk(directory);
  return found;
}

function byParent(jobs: readonly JobView[]): { children: Map<JobDirectory, JobView[]>; tops: JobView[] } {
  const known = new Set(jobs.map(({ directory }) => directory));
  const children = new Map<JobDirectory, JobView[]>();
  const tops: JobView[] = [];
  for (const job of jobs) {
    const { parentJob } = job.record;
    if (parentJob === null || !known.has(parentJob)) tops.push(job);
    else {
      const siblings = children.get(parentJob);
      if (siblings) siblings.push(job);
      else children.set(parentJob, [job]);
    }
  }
  return { children, tops };
}
