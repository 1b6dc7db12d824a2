/** What `--json` says of a job, and the two commands that lead on from it; docs/jobs.md describes it. */
import { basename } from 'node:path';
import { EXIT_CODES, isLive, type JobDirectory, type JobView, readSmall } from '../../jobs/index.ts';
import { CALLED_AS } from './called-as.ts';

export function commandsFor(name: string): { status_cmd: string; session_cmd: string } {
  return { status_cmd: `${CALLED_AS} status ${name}`, session_cmd: `${CALLED_AS} open ${name}` };
}

export function parentName(parentJob: JobDirectory | null): string | null {
  return parentJob === null ? null : basename(parentJob);
}

/** As in a listing. */
export function jobJson({ directory, record, status, startedAt, endedAt }: JobView) {
  const { name, profile, cwd, depth, runMode, timeoutSeconds, session: conversation } = record;
  return {
    name,
    status,
    exitCode: isLive(status) ? null : EXIT_CODES[status],
    startedAt: startedAt ?? null,
    endedAt: endedAt ?? null,
    profile,
    project: record.project,
    cwd,
    parent: parentName(record.parentJob),
    depth,
    runMode,
    timeoutSeconds,
    directory,
    conversation,
  };
}

/** What only one job is asked for: more files are read for it. */
export async function jobDetails(view: JobView) {
  const { directory, record } = view;
  const [runs, reason, model] = await Promise.all([
    readSmall(directory, 'runs'),
    readSmall(directory, 'reason'),
    readSmall(directory, 'model'),
  ]);
  return {
    ...jobJson(view),
    reason: reason ?? null,
    runs: Number(runs ?? '1'),
    model: model ?? null,
    ...commandsFor(record.name),
  };
}
