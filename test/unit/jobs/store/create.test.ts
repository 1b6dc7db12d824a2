import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  findJob,
  JobNameTakenError,
  JobNotFoundError,
  jobFile,
  jobsDirectory,
  listJobs,
  parseJobName,
  projectAt,
  readJob,
} from '../../../../src/jobs/index.ts';
import { isHeld } from '../../../../src/lib/kernel-lock.ts';
import { contentOf, jobScene } from './scene.ts';

describe('making a job', () => {
  it('J2: a job is there with all its files and its lock held', async () => {
    const { start, place, project } = jobScene();
    const held = await start('build', { prompt: '- say "\u2028"', systemPrompt: 'be terse' });
    expect(held.directory).toBe(join(jobsDirectory(place, project.folder), 'build'));
    expect(readdirSync(held.directory).sort()).toEqual([
      'append-prompt.md',
      'job.json',
      'lock',
      'prompt.txt',
      'runs',
      'started_at',
      'status',
      'system-prompt.md',
    ]);
    expect(contentOf(held.directory, 'prompt.txt')).toBe('- say "\u2028"');
    expect(contentOf(held.directory, 'append-prompt.md')).toBe('you are build\n');
    expect(contentOf(held.directory, 'runs')).toBe('1\n');
    expect(contentOf(held.directory, 'started_at')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\n$/);
    expect(held.lock.path).toBe(jobFile(held.directory, 'lock'));
    expect(isHeld(held.lock.path)).toBe(true);
    expect(await readJob(held.directory)).toMatchObject({ status: 'starting', endedAt: undefined });
    held.lock.release();
    expect(await readJob(held.directory)).toMatchObject({ status: 'died' });
  });

  it('rule 2: directories are 0700 and files 0600, whatever the umask', async () => {
    const { start } = jobScene();
    const before = process.umask(0);
    try {
      const { directory, record } = await start('build');
      const modes = readdirSync(directory).map((name) => statSync(join(directory, name)).mode & 0o777);
      expect(new Set(modes)).toEqual(new Set([0o600]));
      expect(statSync(directory).mode & 0o777).toBe(0o700);
      expect(statSync(dirname(record.session)).mode & 0o777).toBe(0o700);
    } finally {
      process.umask(before);
    }
  });

  it('J1: a name that was proposed gets a number where it is taken; one that was asked for does not', async () => {
    const { start, place, project } = jobScene();
    await start('build');
    expect((await start('build', { asked: false })).record.name).toBe('build-2');
    const third = await start('build', { asked: false });
    expect(third.record.name).toBe('build-3');
    expect(contentOf(third.directory, 'append-prompt.md')).toBe('you are build-3\n');
    await expect(start('build')).rejects.toThrow(JobNameTakenError);
    expect(readdirSync(jobsDirectory(place, project.folder)).sort()).toEqual(['build', 'build-2', 'build-3']);
  });

  it('J11: of two starts of one name at once exactly one wins', async () => {
    const { start } = jobScene();
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => start('build')));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(JobNameTakenError);
    }
  });

  it('J1: every one of many starts of one proposed name gets a name of its own', async () => {
    const { start } = jobScene();
    const held = await Promise.all(Array.from({ length: 8 }, () => start('build', { asked: false })));
    expect(new Set(held.map(({ record }) => record.name)).size).toBe(8);
    expect(new Set(held.map(({ record }) => record.session)).size).toBe(8);
    for (const { directory, record } of held) {
      expect(JSON.parse(readFileSync(join(directory, 'job.json'), 'utf8'))).toMatchObject({
        name: record.name,
      });
    }
  });

  it('J1: a job of another directory with the same folder is neither listed, found nor overwritten', async () => {
    const { top, start, place } = jobScene();
    mkdirSync(join(top, 'a/b'), { recursive: true });
    mkdirSync(join(top, 'a-b'));
    const [one, other] = [projectAt(join(top, 'a/b')), projectAt(join(top, 'a-b'))];
    expect(one.folder).toBe(other.folder);
    const held = await start('build', { project: one });
    expect((await listJobs(place, other)).jobs).toEqual([]);
    await expect(findJob(place, other, parseJobName('build'))).rejects.toThrow(JobNotFoundError);
    await expect(start('build', { project: other })).rejects.toThrow(JobNameTakenError);
    expect((await start('build', { project: other, asked: false })).record.name).toBe('build-2');
    expect((await listJobs(place, one)).jobs.map(({ directory }) => directory)).toEqual([held.directory]);
  });

  it('J2: a file or a link in the place of a job is not replaced', async () => {
    const { start, place, project, top } = jobScene();
    const jobs = jobsDirectory(place, project.folder);
    mkdirSync(jobs, { recursive: true });
    writeFileSync(join(jobs, 'file'), 'x');
    symlinkSync(top, join(jobs, 'link'));
    await expect(start('file')).rejects.toThrow(JobNameTakenError);
    await expect(start('link')).rejects.toThrow(JobNameTakenError);
    expect(readFileSync(join(jobs, 'file'), 'utf8')).toBe('x');
  });

  it('rule 7: a prompt that no reader would take is refused, and nothing is left of the job', async () => {
    const { start, place, project } = jobScene();
    await expect(start('build', { prompt: 'x'.repeat(16 * 1024 * 1024 + 1) })).rejects.toThrow(
      /prompt\.txt would have/,
    );
    expect(readdirSync(jobsDirectory(place, project.folder))).toEqual([]);
  });

  it('J4: a job of a name that was used before has a conversation of its own', async () => {
    const { start, place, project } = jobScene();
    const { record } = await start('build');
    expect(record.session.startsWith(join(place.agentDir, 'multi-agent-sessions', project.folder))).toBe(
      true,
    );
    expect(existsSync(record.session)).toBe(false);
  });
});
