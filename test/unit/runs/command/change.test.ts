/** Who may change a run, and what becomes of it (R5, R6), with real owners and real pi. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type RunScene, runScene } from './scene.ts';

const PATIENT = { timeout: 90_000 };
const SLOW = [{ id: 'slow', prompt: 'be slow' }];
const HOLD = 'until [ -e go ]; do sleep 0.05; done';

/** The same words from within a pi Session. */
async function asSession(scene: RunScene, session: string, ...words: string[]) {
  const env = { PI_SESSION_ID: session };
  const { code, stdout } = await scene.callWith({ env }, 'runs', ...words, '--json');
  return { code, ...JSON.parse(stdout) };
}

/** A run of which a job goes on without an owner. */
async function orphan(scene: RunScene, steps: readonly object[] = SLOW): Promise<string> {
  scene.model.callBash('be slow', `touch begun; ${HOLD}`, 'done at last');
  const id = await scene.startRun(steps);
  const jobs = scene.jobDirectory(`slow-${id}`);
  await expect.poll(() => existsSync(join(jobs, 'progress.log')), { timeout: 20_000 }).toBe(true);
  await expect.poll(() => existsSync(join(scene.project, 'begun')), { timeout: 20_000 }).toBe(true);
  await scene.killOwner(join(scene.place.root, id));
  return id;
}

describe('a live run of somebody else (R6)', () => {
  it('R6: message, cancel and cleanup are refused, naming the owner', PATIENT, async () => {
    const scene = await runScene();
    scene.model.callBash('be slow', HOLD, 'done');
    const env = { PI_SESSION_ID: 'mine' };
    const { stdout } = await scene.callWith({ env }, 'runs', 'start', scene.graph(SLOW), '--json');
    const { runId } = JSON.parse(stdout);
    for (const words of [
      ['message', runId, 'slow', 'hurry'],
      ['cancel', runId],
      ['cancel', runId, '--force'],
    ]) {
      expect(await asSession(scene, 'yours', ...words)).toMatchObject({
        code: 1,
        ok: false,
        error: { code: 'owned-by-other', message: expect.stringContaining('session mine') },
      });
    }
    expect(await asSession(scene, 'yours', 'cleanup', runId, '--force')).toMatchObject({
      error: { code: 'run-is-live' },
    });
    expect(await asSession(scene, 'yours', 'take-ownership', runId, '--force')).toMatchObject({
      error: { code: 'run-is-live' },
    });
    expect(await asSession(scene, 'yours', 'status', runId)).toMatchObject({ ownerClass: 'foreign-session' });
    expect(await scene.runsJson('cancel', runId)).toMatchObject({ error: { code: 'owned-by-other' } });
    expect(await scene.runsJson('cancel', runId, '--force')).toMatchObject({ ok: true });
    expect(await scene.runs('wait', runId)).toMatchObject({ code: 1, stdout: `${runId} canceled\n` });
  });
});

describe('an orphan (R6)', () => {
  it('R6: is changed with --force only; a cancel ends what still runs', PATIENT, async () => {
    const scene = await runScene();
    const id = await orphan(scene);
    for (const words of [
      ['message', id, 'slow', 'hurry'],
      ['cancel', id],
      ['cleanup', id],
    ]) {
      expect(await scene.runsJson(...words)).toMatchObject({ ok: false, error: { code: 'orphan' } });
    }
    expect(await scene.runsJson('message', id, 'slow', 'hurry', '--force')).toMatchObject({
      ok: true,
      receipt: expect.stringMatching(/^(queued|delivered)$/),
    });
    expect(await scene.runsJson('cancel', id, '--force')).toMatchObject({ ok: true, status: 'canceled' });
    expect(await scene.json('status', `slow-${id}`)).toMatchObject({
      status: expect.stringMatching(/^(aborted|killed)$/),
    });
  });

  it('R6: is its adopter’s, who may change it without force', PATIENT, async () => {
    const scene = await runScene();
    const id = await orphan(scene, [...SLOW, { id: 'next', prompt: 'never', needs: ['slow'] }]);
    expect(await asSession(scene, 'mine', 'take-ownership', id)).toMatchObject({
      ok: true,
      continued: false,
    });
    expect(await asSession(scene, 'mine', 'cancel', id, '--step', 'next')).toMatchObject({ ok: true });
    expect(await asSession(scene, 'yours', 'cancel', id)).toMatchObject({ error: { code: 'orphan' } });
    expect(await asSession(scene, 'mine', 'take-ownership', id, '--continue')).toMatchObject({ ok: true });
    writeFileSync(join(scene.project, 'go'), '');
    await scene.runs('wait', id);
    expect(await asSession(scene, 'mine', 'status', id)).toMatchObject({
      status: 'mixed',
      ownerClass: 'this-session',
      steps: [
        { id: 'slow', status: 'succeeded' },
        { id: 'next', status: 'canceled' },
      ],
    });
  });

  it('R6: a running step of it can be canceled, and the next owner finds it so', PATIENT, async () => {
    const scene = await runScene();
    scene.model.say('go on', 'gone on');
    const id = await orphan(scene, [...SLOW, { id: 'next', prompt: 'go on', after: ['slow'] }]);
    expect(await scene.runsJson('cancel', id, '--step', 'slow', '--force')).toMatchObject({ ok: true });
    await scene.runsJson('take-ownership', id, '--continue');
    expect(await scene.runsJson('wait', id)).toMatchObject({
      status: 'mixed',
      steps: [{ status: 'canceled' }, { status: 'succeeded' }],
    });
  });
});

describe('a run that has ended (R6)', () => {
  it('R6: takes no more messages and cancels, and goes with its owner’s cleanup only', PATIENT, async () => {
    const scene = await runScene();
    scene.model.say('do it', 'done');
    const id = await scene.startRun([{ id: 'one', prompt: 'do it' }], '--wait');
    for (const words of [
      ['message', id, 'one', 'more'],
      ['cancel', id],
      ['cancel', id, '--force'],
    ]) {
      expect(await scene.runsJson(...words)).toMatchObject({ error: { code: 'run-is-final' } });
    }
    expect(await asSession(scene, 'yours', 'cleanup', id)).toMatchObject({
      error: { code: 'owned-by-other' },
    });
    expect(await asSession(scene, 'yours', 'cleanup', id, '--force')).toMatchObject({
      ok: true,
      removed: true,
    });
    expect(existsSync(join(scene.place.root, id))).toBe(false);
  });

  it('R8: of another version is removed with --force, and not without', PATIENT, async () => {
    const scene = await runScene();
    scene.model.say('do it', 'done');
    const id = await scene.startRun([{ id: 'one', prompt: 'do it' }], '--wait');
    const path = join(scene.place.root, id, 'manifest.json');
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), schemaVersion: 9 }));
    const refusal = { error: { code: 'schema-version-too-new', details: { schemaVersion: 9 } } };
    expect(await scene.runsJson('reattach', id)).toMatchObject(refusal);
    expect(await scene.runsJson('cleanup', id)).toMatchObject(refusal);
    expect(await scene.runsJson('list')).toMatchObject({ runs: [{ status: 'schema-version-too-new' }] });
    expect(await scene.runsJson('cleanup', id, '--force')).toMatchObject({ ok: true, removed: true });
  });
});

describe('worktrees at cleanup (R5)', () => {
  async function withWorktree(): Promise<{ scene: RunScene; id: string; worktree: string }> {
    const scene = await runScene();
    const git = (...words: string[]): void =>
      void execFileSync('git', words, { cwd: scene.project, env: scene.env, stdio: 'ignore' });
    git('init', '--quiet');
    git('-c', 'user.name=Ann', '-c', 'user.email=ann@example.org', 'commit', '--allow-empty', '-m', 'begin');
    scene.model.callBash('write it', 'echo new > new.txt', 'written');
    const id = await scene.startRun([{ id: 'write', prompt: 'write it', worktree: true }], '--wait');
    return { scene, id, worktree: join(scene.place.root, id, 'worktrees/write') };
  }

  it('R5: a dirty one is removed with --force only, and its files are named', PATIENT, async () => {
    const { scene, id, worktree } = await withWorktree();
    expect((await scene.runs('step-result', id, 'write', '--diff')).stdout).toContain('+new');
    expect(await scene.runsJson('list')).toMatchObject({ runs: [{ pendingWorktrees: 1 }] });
    expect(await scene.runsJson('cleanup', id)).toMatchObject({
      error: { code: 'worktree-dirty', message: expect.stringContaining('new.txt') },
    });
    expect(existsSync(join(worktree, 'new.txt'))).toBe(true);
    expect(await scene.runsJson('cleanup', id, '--worktrees-only', '--force')).toMatchObject({
      removed: false,
      worktrees: ['write'],
    });
    expect([existsSync(worktree), existsSync(join(scene.place.root, id))]).toEqual([false, true]);
    expect(await scene.runsJson('list')).toMatchObject({ runs: [{ pendingWorktrees: 0 }] });
    expect(await scene.runsJson('cleanup', id)).toMatchObject({ removed: true, worktrees: [] });
  });

  it('R5: it works where the repository has gone', PATIENT, async () => {
    const { scene, id } = await withWorktree();
    rmSync(join(scene.project, '.git'), { recursive: true });
    expect(await scene.runsJson('cleanup', id, '--force')).toMatchObject({ ok: true, removed: true });
    expect(existsSync(join(scene.place.root, id))).toBe(false);
  });
});
