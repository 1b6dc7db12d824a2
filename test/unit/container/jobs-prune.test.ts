import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { pathsOf, sandboxEnvironment } from '../../../src/agent-dir/index.ts';
import { jobConversations, jobLeftovers } from '../../../src/container/jobs-prune.ts';
import {
  createJob,
  type JobDirectory,
  jobsPlace,
  parseJobName,
  projectAt,
  removalLock,
} from '../../../src/jobs/index.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { tryLock } from '../../../src/lib/kernel-lock.ts';
import { until } from '../../setup/pi.ts';
import { makeRoots } from './sandbox.ts';

const PROJECT = '/srv/shop';

const DAY_MS = 86_400_000;

function scene() {
  const roots = makeRoots();
  const place = jobsPlace(sandboxEnvironment(roots), pathsOf(roots).home);
  const notes: [string, Record<string, unknown>][] = [];
  const needs = {
    roots,
    project: PROJECT,
    clock: systemClock,
    host: () => 'sandbox',
    note: (event: string, facts: Record<string, unknown>) => void notes.push([event, facts]),
  };
  const conversations = jobConversations(needs);
  const prune = (days: number) =>
    conversations.prune({ unchangedSince: new Date(Date.now() - days * DAY_MS), dryRun: false });
  const clear = jobLeftovers(needs, 0);
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
    writeFileSync(join(held.directory, 'ended_at'), new Date(Date.now() - days * DAY_MS).toISOString());
    writeFileSync(join(held.directory, 'exit_code'), '0\n');
    held.lock.release();
    return held.directory;
  };
  return { place, notes, prune, clear, job };
}

it('J14, S11: a start removes what ended longer ago than Sessions are kept, of its project only, and counts it', async () => {
  const { notes, prune, job } = scene();
  const [old, fresh] = [await job('old', 31), await job('fresh', 29)];
  const other = await job('old', 31, '/srv/other');
  expect(await prune(30)).toEqual({ count: 1, bytes: expect.any(Number) });
  expect(notes).toEqual([
    ['jobs-pruned', { removed: 1, bytes: expect.any(Number), left: 0, first: undefined, leftovers: 0 }],
  ]);
  expect([old, fresh, other].map((path) => existsSync(path))).toEqual([false, true, true]);
});

it('J14: starts that follow each other look at the jobs once', async () => {
  const { prune, job } = scene();
  await prune(30);
  const old = await job('old', 31);
  expect(await prune(30)).toEqual({ count: 0, bytes: 0 });
  expect(existsSync(old)).toBe(true);
});

it('J14: a removal that does not end holds no start up, and is noted', async () => {
  const { prune, job, place, notes } = scene();
  const old = await job('old', 31);
  const lock = tryLock(removalLock(place));
  onTestFinished(() => lock?.release());
  expect(await prune(30)).toEqual({ count: 0, bytes: 0 });
  expect(existsSync(old)).toBe(true);
  expect(notes).toEqual([
    ['jobs-prune-failed', { reason: expect.stringContaining('jobs are being removed') }],
  ]);
});

it('J14: what a killed start has left goes also where every job is kept', async () => {
  const { clear, job, place, notes } = scene();
  const old = await job('old', 4_000);
  const building = join(place.state, 'srv-shop', 'jobs', `.gone-${'0'.repeat(32)}`);
  mkdirSync(building);
  writeFileSync(join(building, 'job.json'), '{}');
  clear();
  await until('the prune', () => notes.length > 0);
  expect([old, building].map((path) => existsSync(path))).toEqual([true, false]);
});
