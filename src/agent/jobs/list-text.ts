/** A listing of jobs as a table, a tree or JSON. */
import { type JobList, type JobStatus, type JobTree, type JobView, treesOf } from '../../jobs/index.ts';
import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { duration, table } from '../../lib/table.ts';
import type { JobContext } from './context.ts';
import { jobJson, parentName } from './job-json.ts';

export interface ListOptions {
  readonly allProjects?: boolean;
  readonly status?: readonly JobStatus[];
  readonly tree?: boolean;
  readonly watch?: boolean;
  readonly json?: boolean;
}

export function textOfList(
  { deps }: Pick<JobContext, 'deps'>,
  found: JobList,
  { status, tree = false, json = false, allProjects = false, watch = false }: ListOptions,
): string {
  const jobs = status === undefined ? found.jobs : found.jobs.filter((job) => status.includes(job.status));
  const { broken, cut } = found;
  if (json) {
    const facts = { version: 1, jobs: jobs.map(jobJson), broken, cut };
    return `${jsonText(facts, watch ? undefined : 2)}\n`;
  }
  const now = deps.clock.now().getTime();
  const rows = tree
    ? treesOf(jobs).flatMap((top) => treeRows(top, '', ''))
    : jobs.map((job) => ({ job, indent: '' }));
  const headings = [
    'name',
    'status',
    'started',
    'took',
    'profile',
    tree ? '' : 'parent',
    ...(allProjects ? ['project'] : []),
  ];
  const cells = rows.map(({ job, indent }) => [
    `${indent}${job.record.name}`,
    job.status,
    ...timesOf(job, now),
    job.record.profile ?? '-',
    tree ? '' : safeForTerminal(parentName(job.record.parentJob) ?? '-'),
    ...(allProjects ? [safeForTerminal(job.record.project)] : []),
  ]);
  const strange = broken.map(({ directory, reason }) => `broken: ${directory}: ${reason}`);
  if (cut) strange.push('there are more jobs than were looked at: multi-agent prune');
  return table(headings, cells) + strange.map((line) => `${safeForTerminal(line)}\n`).join('');
}

function treeRows(
  { job, children }: JobTree,
  indent: string,
  below: string,
): { job: JobView; indent: string }[] {
  const last = children.length - 1;
  return [
    { job, indent },
    ...children.flatMap((child, index) =>
      treeRows(
        child,
        `${below}${index === last ? '└─ ' : '├─ '}`,
        `${below}${index === last ? '   ' : '│  '}`,
      ),
    ),
  ];
}

function timesOf({ startedAt, endedAt }: JobView, now: number): [string, string] {
  if (startedAt === undefined) return ['-', '-'];
  const began = Date.parse(startedAt);
  if (Number.isNaN(began)) return ['-', '-'];
  const end = endedAt === undefined ? now : Date.parse(endedAt);
  return [`${duration(now - began)} ago`, Number.isNaN(end) ? '-' : duration(end - began)];
}
