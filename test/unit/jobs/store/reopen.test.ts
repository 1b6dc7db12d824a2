import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  BrokenJobError,
  ConversationOpenError,
  JobNotFoundError,
  JobRunningError,
  jobFile,
  readJob,
  reopenJob,
} from '../../../../src/jobs/index.ts';
import { trySessionLock } from '../../../../src/pi/index.ts';
import { commit, contentOf, jobScene } from './scene.ts';

const HOLDER = { pid: 7, host: 'elsewhere', startedAt: '2026-01-01T00:00:00.000Z' };

describe('the next run of a job', () => {
  it('J2: what the run before left is cleared, and the new one is written', async () => {
    const { ended, place, reopenDeps } = jobScene();
    const directory = await ended('build', { code: 1 });
    for (const name of ['output.txt', 'model', 'stderr.txt', 'reason'] as const) {
      writeFileSync(jobFile(directory, name), 'old');
    }
    writeFileSync(jobFile(directory, 'progress.log'), 'kept\n');
    const held = await reopenJob(place, directory, 'go on', reopenDeps);
    for (const name of ['output.txt', 'model', 'stderr.txt', 'reason', 'exit_code', 'ended_at'] as const) {
      expect(existsSync(jobFile(directory, name)), name).toBe(false);
    }
    expect(contentOf(directory, 'progress.log')).toBe('kept\n');
    expect(contentOf(directory, 'prompt.txt')).toBe('go on');
    expect(contentOf(directory, 'runs')).toBe('2\n');
    expect((await readJob(directory)).status).toBe('starting');
    held.lock.release();
  });

  it('J11: what a killed writer left half-written goes, and a damaged count begins anew', async () => {
    const { ended, place, reopenDeps } = jobScene();
    const directory = await ended('build');
    const half = join(directory, '.pi-sandbox-tmp-00000000000000000000000000000000');
    writeFileSync(half, 'ha');
    for (const name of ['runs', 'exit_code'] as const) {
      writeFileSync(jobFile(directory, name), 'x'.repeat(100_000));
    }
    const held = await reopenJob(place, directory, 'go on', reopenDeps);
    expect([existsSync(half), contentOf(directory, 'runs')]).toEqual([false, '1\n']);
    held.lock.release();
  });

  it('rule 8: what another hand has made a link of is replaced, and the file behind it stays', async () => {
    const { ended, place, reopenDeps, top } = jobScene();
    const directory = await ended('build');
    const mine = join(top, 'mine');
    writeFileSync(mine, 'mine');
    for (const name of ['status', 'prompt.txt', 'started_at'] as const) {
      rmSync(jobFile(directory, name), { force: true });
      symlinkSync(mine, jobFile(directory, name));
    }
    const held = await reopenJob(place, directory, 'go on', reopenDeps);
    expect(readFileSync(mine, 'utf8')).toBe('mine');
    expect(contentOf(directory, 'prompt.txt')).toBe('go on');
    held.lock.release();
  });

  it('J12: whoever resumes a job is the one to be told of its end', async () => {
    const { start, place, reopenDeps } = jobScene();
    const held = await start('build', {}, { startedBySession: 'old' });
    const file = join(held.directory, 'job.json');
    writeFileSync(file, JSON.stringify({ ...held.record, notifiedAt: '2026-01-01T00:00:00.000Z' }));
    commit(held.directory, 0);
    held.lock.release();
    const again = await reopenJob(place, held.directory, 'go on', {
      ...reopenDeps,
      settings: { startedBySession: 'new' },
    });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
      notifiedAt: null,
      startedBySession: 'new',
    });
    again.lock.release();
  });

  it('J2: a run that is just ending is waited for', async () => {
    const { start, place, reopenDeps } = jobScene();
    const held = await start('build');
    setTimeout(() => {
      commit(held.directory, 0);
      held.lock.release();
    }, 300);
    const again = await reopenJob(place, held.directory, 'go on', reopenDeps);
    expect(contentOf(held.directory, 'runs')).toBe('2\n');
    again.lock.release();
  });

  it('J11: of two resumes at once one wins, and the other says that the job is running', async () => {
    const { ended, place, reopenDeps } = jobScene();
    const directory = await ended('build');
    const both = await Promise.allSettled(
      ['one', 'two'].map((prompt) => reopenJob(place, directory, prompt, { ...reopenDeps, lockWaitMs: 300 })),
    );
    const [winner] = both.filter((result) => result.status === 'fulfilled');
    const [loser] = both.filter((result) => result.status === 'rejected');
    expect(loser?.reason).toBeInstanceOf(JobRunningError);
    expect(contentOf(directory, 'runs')).toBe('2\n');
    winner?.value.lock.release();
  });

  it('J2: a pi that has outlived its runner is waited for, then ended', async () => {
    const { start, place, reopenDeps } = jobScene();
    const held = await start('build');
    const { session } = held.record;
    writeFileSync(session, '{"type":"session","version":3,"id":"s1","timestamp":"","cwd":"/"}\n');
    held.lock.release();
    const attempt = trySessionLock(reopenDeps.sessionLocks, { id: 's1', file: session }, HOLDER);
    const ended: string[] = [];
    const again = await reopenJob(place, held.directory, 'go on', {
      ...reopenDeps,
      oldPiMs: 300,
      endOldProcesses: async (directory) => {
        ended.push(directory);
        if ('lock' in attempt) attempt.lock.release();
      },
    });
    expect(ended).toEqual([held.directory]);
    again.lock.release();
  });

  it('J13: a conversation that somebody else has open is left alone, and so is the job', async () => {
    const { ended, place, reopenDeps } = jobScene();
    const directory = await ended('build');
    const { session } = (await readJob(directory)).record;
    const attempt = trySessionLock(reopenDeps.sessionLocks, { id: 'unknown', file: session }, HOLDER);
    await expect(reopenJob(place, directory, 'go on', { ...reopenDeps, oldPiMs: 100 })).rejects.toThrow(
      ConversationOpenError,
    );
    expect(await readJob(directory)).toMatchObject({ status: 'done' });
    expect(contentOf(directory, 'prompt.txt')).toBe('do it');
    if ('lock' in attempt) attempt.lock.release();
  });

  it('J11: a damaged record is refused and left as it is; a job that is gone is not made again', async () => {
    const { ended, place, reopenDeps } = jobScene();
    const directory = await ended('build');
    writeFileSync(join(directory, 'job.json'), '{"version":');
    await expect(reopenJob(place, directory, 'go on', reopenDeps)).rejects.toThrow(BrokenJobError);
    expect(contentOf(directory, 'exit_code')).toBe('0\n');
    rmSync(directory, { recursive: true });
    await expect(reopenJob(place, directory, 'go on', reopenDeps)).rejects.toThrow(JobNotFoundError);
    expect(existsSync(directory)).toBe(false);
  });
});
