import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { pathsOf, sandboxEnvironment } from '../../../src/agent-dir/index.ts';
import { jobsPruner } from '../../../src/container/jobs-prune.ts';
import { createJob, type JobDirectory, jobsPlace, parseJobName, projectAt } from '../../../src/jobs/index.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { until } from '../../setup/pi.ts';
import { makeRoots } from './sandbox.ts';

const PROJECT = '/srv/shop';

function scene(retentionDays: number) {
  const roots = makeRoots();
  const place = jobsPlace(sandboxEnvironment(roots), pathsOf(roots).home);
  const notes: [string, Record<string, unknown>][] = [];
  const start = jobsPruner(
    {
      roots,
      project: PROJECT,
      clock: systemClock,
      retentionDays: () => retentionDays,
      host: () => 'sandbox',
      note: (event, facts) => notes.push([event, facts]),
    },
    0,
  );
  /** A job that ended so many days ago; one without an end is still held by somebody. */
  const job = async (name: string, days: number, project = PROJECT): Promise<JobDirectory> => {
    const held = await createJob(
      place,
      {
        project: projectAt(project),
        name: parseJobName(name),
        asked: true,
        prompt: 'x',
        systemPrompt: undefined,
        appendPrompt: () => '',
        sessionDirectory: undefined,
        settings: {
          cwd: project,
          realCwd: project,
          profile: null,
          piArgs: [],
          parentJob: null,
          depth: 0,
          maxDepth: 2,
          runMode: 'background',
          timeoutSeconds: 0,
          startedBySession: null,
          startedByRun: null,
          ask: false,
          maxCost: null,
          maxTokens: null,
        },
      },
      { clock: systemClock, identity: { pid: process.pid, host: 'test' } },
    );
    writeFileSync(join(held.directory, 'ended_at'), new Date(Date.now() - days * 86_400_000).toISOString());
    writeFileSync(join(held.directory, 'exit_code'), '0\n');
    held.lock.release();
    return held.directory;
  };
  return { place, notes, start, job };
}

it('J14: a start removes what ended longer ago than Sessions are kept, of its project only, and notes it', async () => {
  const { notes, start, job } = scene(30);
  const [old, fresh] = [await job('old', 31), await job('fresh', 29)];
  const other = await job('old', 31, '/srv/other');
  start();
  await until('the prune', () => notes.length > 0);
  expect(notes).toEqual([
    ['jobs-pruned', { removed: 1, bytes: expect.any(Number), left: 0, first: undefined, leftovers: 0 }],
  ]);
  expect([old, fresh, other].map((path) => existsSync(path))).toEqual([false, true, true]);
});

it('J14: a retention of 0 keeps every job', async () => {
  const { start, job, place, notes } = scene(0);
  const old = await job('old', 4_000);
  // What a killed start has left goes all the same, and tells when the prune is over.
  const building = join(place.state, 'srv-shop', 'jobs', `.gone-${'0'.repeat(32)}`);
  mkdirSync(building);
  writeFileSync(join(building, 'job.json'), '{}');
  start();
  await until('the prune', () => notes.length > 0);
  expect(existsSync(old)).toBe(true);
});
