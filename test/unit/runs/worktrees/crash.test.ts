import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tryLock } from '../../../../src/lib/kernel-lock.ts';
import { worktreeDirectory, writeWorktrees } from '../../../../src/runs/index.ts';
import { STEP, type WorktreeScene, worktreeScene } from '../../../setup/worktree-scene.ts';

let scene: WorktreeScene;
let path: string;
let branch: string;
let base: string;
beforeEach(async () => {
  scene = await worktreeScene();
  path = worktreeDirectory(scene.run, STEP);
  branch = `pi/${scene.runId}/${STEP}`;
  base = scene.git(['rev-parse', 'HEAD']).trim();
});
afterEach(() => scene.close());

/** As an owner has it on the disk that was killed before git had done its work. */
async function announced(): Promise<void> {
  const record = {
    stepId: STEP,
    worktreePath: path,
    branchName: branch,
    baseCommit: base,
    repoRoot: scene.repository,
    made: false,
    cleanedUp: false,
  };
  mkdirSync(join(scene.run, 'worktrees'), { mode: 0o700, recursive: true });
  await writeWorktrees(scene.run, [record]);
}

async function expectWhole(): Promise<void> {
  const { make, look } = await scene.open();
  expect(await make(STEP, scene.repository)).toEqual({ cwd: path });
  expect(readFileSync(join(path, 'lib', 'a.js'), 'utf8')).toBe('a\n');
  expect(scene.git(['status', '--porcelain', '--branch'], path)).toBe(`## ${branch}\n`);
  expect(scene.git(['worktree', 'list']).trim().split('\n')).toHaveLength(2);
  expect((await look(STEP)).dirtyFiles.first).toEqual([]);
}

describe('making a worktree after a crash (R5)', () => {
  it('R5: before git was asked', async () => {
    await announced();
    await expectWhole();
  });

  it('R5: when git had made the branch only, and left its lock', async () => {
    await announced();
    scene.git(['branch', branch, base]);
    writeFileSync(join(scene.repository, '.git', 'refs', 'heads', `${branch}.lock`), '');
    await expectWhole();
  });

  it('R5: when git had begun its own record of it', async () => {
    await announced();
    const entry = join(scene.repository, '.git', 'worktrees', STEP);
    mkdirSync(entry, { recursive: true });
    writeFileSync(join(entry, 'locked'), `${scene.runId}\n`);
    await expectWhole();
    expect(existsSync(join(scene.repository, '.git', 'worktrees', `${STEP}1`))).toBe(false);
  });

  it('R5: when git was at the files, and left its locks', async () => {
    await announced();
    scene.git(['worktree', 'add', '--quiet', '--lock', '--reason', scene.runId, '-b', branch, path, base]);
    const entry = join(scene.repository, '.git', 'worktrees', STEP);
    writeFileSync(join(entry, 'index.lock'), '');
    writeFileSync(join(entry, 'HEAD.lock'), '');
    unlinkSync(join(entry, 'index'));
    rmSync(join(path, 'lib'), { recursive: true });
    await expectWhole();
  });

  it('R5: when only half a directory was there', async () => {
    await announced();
    mkdirSync(join(path, 'lib'), { recursive: true });
    writeFileSync(join(path, '.git'), 'gitdir: /nowhere\n');
    await expectWhole();
  });

  it('R5: after git itself was killed at any moment', async () => {
    for (let file = 0; file < 200; file++) writeFileSync(join(scene.repository, `file-${file}`), `${file}\n`);
    scene.git(['add', '.']);
    scene.git(['commit', '--quiet', '-m', 'many']);
    base = scene.git(['rev-parse', 'HEAD']).trim();
    await announced();
    const words = ['worktree', 'add', '--quiet', '--lock', '--reason', scene.runId, '-b', branch, path, base];
    for (let milliseconds = 0; milliseconds < 36; milliseconds += 3) {
      const git = spawn('git', words, {
        cwd: scene.repository,
        env: scene.env,
        stdio: 'ignore',
        detached: true,
      });
      await once(git, 'spawn');
      const ended = once(git, 'exit');
      setTimeout(() => {
        if (git.pid !== undefined && git.exitCode === null) process.kill(-git.pid, 'SIGKILL');
      }, milliseconds);
      await ended;
      await announced();
      const { make, remove } = await scene.open();
      await make(STEP, scene.repository);
      expect(scene.git(['status', '--porcelain'], path)).toBe('');
      await remove(STEP, { force: false });
      expect(scene.git(['worktree', 'list']).trim().split('\n')).toHaveLength(1);
      expect(scene.git(['branch', '--list', 'pi/*'])).toBe('');
    }
  });

  it('R5: waits for a git that a killed owner has left at work', async () => {
    await announced();
    const filter = join(scene.repository, '..', 'slow');
    writeFileSync(filter, '#!/bin/sh\nsleep 1\ncat\n');
    chmodSync(filter, 0o755);
    scene.git(['config', 'filter.slow.smudge', filter]);
    writeFileSync(join(scene.repository, '.git', 'info', 'attributes'), 'readme.txt filter=slow\n');
    const lock = tryLock(join(scene.run, 'worktrees', '.lock'));
    if (lock === undefined) throw new Error('nobody else has it');
    const words = ['worktree', 'add', '--quiet', '--lock', '--reason', scene.runId, '-b', branch, path, base];
    const options = { cwd: scene.repository, env: scene.env };
    const git = spawn('git', words, { ...options, stdio: ['ignore', 'ignore', 'ignore', lock.fd] });
    await once(git, 'spawn');
    lock.leaveToChild();
    const { make } = await scene.open();
    await make(STEP, scene.repository);
    expect(git.exitCode).toBe(0);
    expect(scene.git(['status', '--porcelain', '--branch'], path)).toBe(`## ${branch}\n`);
  });

  it('R5: a branch of that name at another commit is nobody’s to move', async () => {
    await announced();
    writeFileSync(join(scene.repository, 'other.txt'), '');
    scene.git(['add', '.']);
    scene.git(['commit', '--quiet', '-m', 'other']);
    scene.git(['branch', branch]);
    const { make } = await scene.open();
    await expect(make(STEP, scene.repository)).rejects.toThrow(
      `there is a branch ${branch} already, at another commit`,
    );
  });
});
