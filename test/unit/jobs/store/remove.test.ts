import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  ChildRunningError,
  deletionLog,
  type JobDirectory,
  JobRunningError,
  jobsDirectory,
  listJobs,
  pruneJobs,
  readJob,
  removeJob,
  removing,
  reopenJob,
  socketDirectory,
  socketName,
} from '../../../../src/jobs/index.ts';
import { type JobScene, jobScene } from './scene.ts';

const DAY = 86_400_000;

async function remove(scene: JobScene, directory: JobDirectory) {
  const { place, project, reopenDeps: deps } = scene;
  const { jobs } = await listJobs(place, project);
  return removing(place, deps, () => removeJob(place, directory, 'asked', { ...deps, jobs }));
}

function prune(scene: JobScene, olderThanMs: number | undefined, dryRun = false) {
  return pruneJobs(scene.place, scene.project, { ...scene.reopenDeps, olderThanMs, dryRun });
}

function logged(scene: JobScene): Record<string, unknown>[] {
  const lines = readFileSync(deletionLog(scene.place), 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line));
}

describe('removing jobs', () => {
  it('rule 3: a finished job goes with its conversation, and the log says what, when, why and how large', async () => {
    const scene = jobScene();
    const directory = await scene.ended('build');
    const { session } = (await readJob(directory)).record;
    writeFileSync(session, 'x'.repeat(10_000));
    const { bytes, conversation } = await remove(scene, directory);
    expect([existsSync(directory), existsSync(session), conversation]).toEqual([false, false, session]);
    expect(bytes).toBeGreaterThan(10_000);
    expect(logged(scene)).toMatchObject([
      {
        version: 1,
        event: 'removing',
        job: directory,
        project: scene.project.real,
        why: 'asked',
        conversation: session,
      },
      { version: 1, event: 'removed', job: directory, bytes },
    ]);
    expect(readdirSync(dirname(directory))).toEqual([]);
  });

  it('J6: a job that runs is not removed, nor one whose child runs', async () => {
    const scene = jobScene();
    const held = await scene.start('live');
    await expect(remove(scene, held.directory)).rejects.toThrow(JobRunningError);
    const parent = await scene.ended('parent');
    const middle = await scene.ended('middle', { settings: { parentJob: parent, depth: 1 } });
    await scene.start('leaf', {}, { parentJob: middle, depth: 2 });
    await expect(remove(scene, parent)).rejects.toThrow(ChildRunningError);
    expect(existsSync(parent)).toBe(true);
  });

  it('rule 3: nothing behind a link is deleted, and a conversation that lies elsewhere stays', async () => {
    const scene = jobScene();
    const elsewhere = join(scene.top, 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, 'precious'), 'x');
    const held = await scene.start('build', { sessionDirectory: elsewhere });
    writeFileSync(held.record.session, 'x');
    symlinkSync(elsewhere, join(held.directory, 'link'));
    held.lock.release();
    const { conversation } = await remove(scene, held.directory);
    expect(conversation).toBeNull();
    expect(readdirSync(elsewhere)).toHaveLength(2);
    expect(existsSync(held.directory)).toBe(false);
  });

  it('J14: prune takes what ended long ago, and neither what runs nor what has a child that runs', async () => {
    const scene = jobScene();
    const at = new Date(Date.now() - 40 * DAY);
    const old = await scene.ended('old', { at });
    const parent = await scene.ended('parent', { at });
    await scene.start('child', {}, { parentJob: parent, depth: 1 });
    await scene.ended('fresh');
    const dry = await prune(scene, 30 * DAY, true);
    expect(dry.removed.map(({ job }) => job.directory)).toEqual([old]);
    expect(existsSync(old)).toBe(true);
    const { removed, kept, failed } = await prune(scene, 30 * DAY);
    expect([removed.map(({ job }) => job.directory), kept, failed]).toEqual([[old], 3, []]);
    expect((await listJobs(scene.place, scene.project)).jobs.map(({ record }) => record.name).sort()).toEqual(
      ['child', 'fresh', 'parent'],
    );
    expect((await prune(scene, undefined)).removed).toEqual([]);
  });

  it('J11: prune clears what a killed start or removal has left, and nothing that was just begun', async () => {
    const scene = jobScene();
    await scene.ended('good');
    const jobs = jobsDirectory(scene.place, scene.project.folder);
    const id = 'a'.repeat(32);
    for (const name of [`.new-${id}`, `.new-b${id}`, `.gone-${id}`, `.new-strange`])
      mkdirSync(join(jobs, name));
    writeFileSync(join(jobs, `.new-${id}`, 'prompt.txt'), 'x');
    writeFileSync(join(jobs, `.gone-${id}`, 'anything'), 'x');
    writeFileSync(join(jobs, '.new-strange', 'thesis.tex'), 'x');
    const old = new Date(Date.now() - DAY);
    for (const name of [`.new-${id}`, '.new-strange']) utimesSync(join(jobs, name), old, old);
    expect((await prune(scene, undefined)).leftovers).toBe(2);
    expect(readdirSync(jobs).sort()).toEqual([`.new-b${id}`, '.new-strange', 'good']);
  });

  it('J14: a job that died ended after the last thing that it told, not when it was started', async () => {
    const scene = jobScene();
    const { directory, lock } = await scene.start('long');
    lock.release();
    writeFileSync(join(directory, 'started_at'), `${new Date(Date.now() - 40 * DAY).toISOString()}\n`);
    expect(await readJob(directory)).toMatchObject({ status: 'died' });
    expect((await prune(scene, 30 * DAY)).removed).toEqual([]);
    const old = new Date(Date.now() - 31 * DAY);
    utimesSync(join(directory, 'status'), old, old);
    expect((await prune(scene, 30 * DAY)).removed).toHaveLength(1);
  });

  it('rule 5: what cannot be pruned is named, and what comes after it goes all the same', async () => {
    const scene = jobScene();
    const blocked = await scene.ended('blocked', { at: new Date(0) });
    await scene.ended('free', { at: new Date(0) });
    mkdirSync(join(socketDirectory(scene.place), socketName(blocked)), { recursive: true });
    const jobs = jobsDirectory(scene.place, scene.project.folder);
    const [stuck, left] = [`.gone-${'a'.repeat(32)}`, `.gone-${'b'.repeat(32)}`];
    for (const name of [stuck, left]) mkdirSync(join(jobs, name));
    symlinkSync('/etc/passwd', join(jobs, stuck, 'lock'));
    const { removed, failed, leftovers } = await prune(scene, DAY);
    expect([removed.map(({ job }) => job.record.name), leftovers]).toEqual([['free'], 1]);
    expect(failed.map(({ job }) => job).sort()).toEqual([join(jobs, stuck), blocked]);
  });

  it('J11: a job whose record cannot be read is never pruned', async () => {
    const scene = jobScene();
    const directory = await scene.ended('torn', { at: new Date(0) });
    writeFileSync(join(directory, 'job.json'), '{');
    expect((await prune(scene, 0)).removed).toEqual([]);
    expect(existsSync(directory)).toBe(true);
  });

  it('J11: the conversation of a removal that was killed goes with the next prune', async () => {
    const scene = jobScene();
    const directory = await scene.ended('cut');
    const { session } = (await readJob(directory)).record;
    writeFileSync(session, 'x');
    renameSync(directory, join(dirname(directory), `.gone-${'a'.repeat(32)}`));
    expect((await prune(scene, undefined)).leftovers).toBe(1);
    expect([existsSync(session), readdirSync(dirname(directory))]).toEqual([false, []]);
    expect(logged(scene)).toMatchObject([{ event: 'removing', why: 'leftover', conversation: session }]);
  });

  it('J14: what was old when it was listed and has had another run since then is kept', async () => {
    const scene = jobScene();
    const directory = await scene.ended('again', { at: new Date(0) });
    const { place, project, reopenDeps: deps } = scene;
    const { jobs } = await listJobs(place, project);
    (await reopenJob(place, directory, 'go on', deps)).lock.release();
    await expect(removeJob(place, directory, 'age', { ...deps, jobs })).rejects.toThrow('another run');
    expect(existsSync(directory)).toBe(true);
  });
});
