/** The reading order of J2, by every order of what a runner and a starter can do between two looks. */
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  EXIT_CODES,
  FINAL_STATUSES,
  isLive,
  jobsDirectory,
  listJobs,
  readJob,
} from '../../../../src/jobs/index.ts';
import { readingOf } from '../../../../src/jobs/view.ts';
import { commit, jobScene } from './scene.ts';

describe('reading a job', () => {
  it('J2: whatever happens between the looks, a status is read that was true at some moment of them', () => {
    // A job's life as the steps that change its lock and files; the truth after each.
    const { life } = world();
    fc.assert(
      fc.property(
        fc.nat(life.length - 1),
        fc.array(fc.nat(3), { minLength: 12, maxLength: 12 }),
        (from, gaps) => {
          let at = from;
          const next = (gap: number): (typeof life)[number] => {
            at = Math.min(at + gap, life.length - 1);
            return life[at] ?? fallback;
          };
          const looks = (gap: [number, number, number]) => {
            const { held } = next(gap[0]);
            const { exitCode } = next(gap[1]);
            const status = held && exitCode === undefined ? next(gap[2]).status : undefined;
            return { held, exitCode, status };
          };
          const steps = gaps.values();
          const step = (): number => steps.next().value ?? 0;
          let before: ReturnType<typeof looks> | undefined;
          let read: ReturnType<typeof readingOf> = 'look again';
          while (read === 'look again') {
            const now = looks([before === undefined ? 0 : step(), step(), step()]);
            read = readingOf(now, before);
            before = now;
          }
          const truths = life.slice(from, at + 1).flatMap(({ truth }) => truth);
          // What only a runner's death makes true is never read of a run that has an end.
          expect(truths).toContain(read);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('J2, J3: each exit code is read as the status that has it', async () => {
    const { ended } = jobScene();
    for (const status of FINAL_STATUSES) {
      const directory = await ended(status, { code: EXIT_CODES[status] });
      expect((await readJob(directory)).status).toBe(status);
    }
    expect((await readJob(await ended('odd', { code: 77 }))).status).toBe('failed');
  });

  it('J2: a final word in `status` is no end before `exit_code` is there', async () => {
    const { start } = jobScene();
    const held = await start('build');
    writeFileSync(join(held.directory, 'status'), 'done\n');
    expect((await readJob(held.directory)).status).toBe('running');
    commit(held.directory, 0);
    expect((await readJob(held.directory)).status).toBe('done');
    held.lock.release();
    expect((await readJob(held.directory)).status).toBe('done');
  });

  it('J11: list goes on whatever lies among the jobs, and says of each what it is', async () => {
    const { start, ended, place, project } = jobScene();
    const jobs = jobsDirectory(place, project.folder);
    await ended('good');
    await start('live');
    for (const name of ['torn', 'newer', 'foreign', 'huge', 'linked']) mkdirSync(join(jobs, name));
    writeFileSync(join(jobs, 'torn/job.json'), '{"version":1,"na');
    writeFileSync(join(jobs, 'newer/job.json'), '{"version":2}');
    writeFileSync(join(jobs, 'huge/job.json'), 'x'.repeat(300 * 1024));
    symlinkSync('/etc/passwd', join(jobs, 'linked/job.json'));
    mkdirSync(join(jobs, 'empty'));
    writeFileSync(join(jobs, 'file'), 'x');
    const list = await listJobs(place, project);
    expect(list.jobs.map(({ record, status }) => [record.name, status])).toEqual([
      ['live', 'starting'],
      ['good', 'done'],
    ]);
    const reasons = Object.fromEntries(
      list.broken.map(({ directory, reason }) => [directory.slice(jobs.length + 1), reason]),
    );
    expect(reasons).toEqual({
      torn: 'job.json is not JSON',
      newer: 'job.json was written by a newer version',
      huge: expect.stringContaining('longer than'),
      linked: expect.stringContaining('it is a link'),
    });
  });

  it('rule 8: a record that another hand has given another name is broken, and no name is printed as it is', async () => {
    const { start, place, project } = jobScene();
    for (const [name, given] of [
      ['one', 'two'],
      ['three', '\u001b[2Jthree'],
      ['four', '../four'],
    ] as const) {
      const { directory, record } = await start(name);
      writeFileSync(join(directory, 'job.json'), JSON.stringify({ ...record, name: given }));
    }
    const { jobs, broken } = await listJobs(place, project);
    expect(jobs).toEqual([]);
    expect(broken.map(({ reason }) => reason).sort()).toEqual([
      'job.json is that of a job "two"',
      'job.json: name is no name',
      'job.json: name is no name',
    ]);
  });

  it.skipIf(process.getuid?.() === 0)(
    'J11: a job that may not be read is broken, and the others are listed',
    async () => {
      const { ended, place, project } = jobScene();
      await ended('good');
      const closed = await ended('closed');
      chmodSync(join(closed, 'job.json'), 0);
      const list = await listJobs(place, project);
      expect([list.jobs.length, list.broken.length]).toEqual([1, 1]);
    },
  );

  it('J11: jobs of a project whose directory has vanished are still listed', async () => {
    const { ended, place, project } = jobScene();
    await ended('good');
    rmSync(project.directory, { recursive: true });
    expect((await listJobs(place, project)).jobs).toHaveLength(1);
    expect((await listJobs(place, undefined)).jobs).toHaveLength(1);
  });

  it('J6: without a project the jobs of all are listed, the last started first', async () => {
    const { ended, start, place, top } = jobScene();
    await ended('one');
    mkdirSync(join(top, 'other'));
    const { projectAt } = await import('../../../../src/jobs/index.ts');
    await start('two', { project: projectAt(join(top, 'other')) });
    const { jobs } = await listJobs(place, undefined);
    expect(jobs.map(({ record, status }) => [record.name, isLive(status)])).toEqual([
      ['two', true],
      ['one', false],
    ]);
  });
});

interface Moment {
  held: boolean;
  exitCode: string | undefined;
  status: string;
  truth: string[];
}

const fallback: Moment = { held: false, exitCode: undefined, status: '', truth: [] };

/** One run from its start to its end, a second one, and its runner's death. */
function world(): { life: Moment[] } {
  const life: Moment[] = [
    { held: true, exitCode: undefined, status: 'starting', truth: ['starting'] },
    { held: true, exitCode: undefined, status: 'running', truth: ['running'] },
    { held: true, exitCode: undefined, status: 'done', truth: ['running'] },
    { held: true, exitCode: '0', status: 'done', truth: ['done'] },
    { held: false, exitCode: '0', status: 'done', truth: ['done'] },
    { held: true, exitCode: '0', status: 'done', truth: ['done'] },
    // Cleared and not yet written: the old word, and a run that has begun.
    { held: true, exitCode: undefined, status: 'done', truth: ['running', 'starting'] },
    { held: true, exitCode: undefined, status: 'starting', truth: ['starting'] },
    { held: true, exitCode: undefined, status: 'waiting', truth: ['waiting'] },
    { held: false, exitCode: undefined, status: 'waiting', truth: ['died'] },
  ];
  return { life };
}
