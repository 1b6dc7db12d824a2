import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readEvents, readWorktrees, worktreeDirectory } from '../../../../src/runs/index.ts';
import { STEP, stepId, type WorktreeScene, worktreeScene } from '../../../setup/worktree-scene.ts';

let scene: WorktreeScene;
let path: string;
let branch: string;
beforeEach(async () => {
  scene = await worktreeScene();
  path = worktreeDirectory(scene.run, STEP);
  branch = `pi/${scene.runId}/${STEP}`;
});
afterEach(() => scene.close());

async function record() {
  const facts = await readWorktrees(scene.run);
  return facts.kind === 'known' ? facts.value[0] : undefined;
}

describe('making a worktree (R5)', () => {
  it('R5: is on a branch of its own at the commit of its repository, locked with the run’s id', async () => {
    const { make } = await scene.open();
    expect(await make(STEP, scene.repository)).toEqual({ cwd: path });
    const base = scene.git(['rev-parse', 'HEAD']).trim();
    const listed = scene.git(['worktree', 'list', '--porcelain']);
    expect(listed).toContain(
      `worktree ${path}\nHEAD ${base}\nbranch refs/heads/${branch}\nlocked ${scene.runId}\n`,
    );
    expect(readFileSync(join(path, 'readme.txt'), 'utf8')).toBe('one\ntwo\n');
    expect(await record()).toEqual({
      stepId: STEP,
      worktreePath: path,
      branchName: branch,
      baseCommit: base,
      repoRoot: scene.repository,
      made: true,
      cleanedUp: false,
    });
  });

  it('R5: is told in the run’s events, once', async () => {
    await (await scene.open()).make(STEP, scene.repository);
    await (await scene.open()).make(STEP, scene.repository);
    const told = [];
    for await (const line of readEvents(scene.run))
      if (line.kind === 'event' && line.event.type === 'worktree') told.push(line.event);
    expect(told).toMatchObject([{ step: STEP, path, cleanedUp: false }]);
  });

  it('R5: a step that works in a directory of the repository works in the same one of the worktree', async () => {
    const { make } = await scene.open();
    expect(await make(STEP, join(scene.repository, 'lib'))).toEqual({ cwd: join(path, 'lib') });
    mkdirSync(join(scene.repository, 'new'));
    expect(await make(STEP, join(scene.repository, 'new'))).toEqual({ cwd: join(path, 'new') });
    expect(existsSync(join(path, 'new'))).toBe(true);
  });

  it('R5: its files have normal modes, and nobody else gets to them', async () => {
    await (await scene.open()).make(STEP, scene.repository);
    const mask = 0o777 & ~process.umask();
    expect(statSync(join(path, 'readme.txt')).mode & 0o777).toBe(0o666 & mask);
    expect(statSync(join(path, 'lib')).mode & 0o777).toBe(mask);
    expect(statSync(join(scene.run, 'worktrees')).mode & 0o777).toBe(0o700);
  });

  it('R5: a host that does not see it does not prune it', async () => {
    await (await scene.open()).make(STEP, scene.repository);
    // What a container has in a volume is nowhere for the host.
    const hidden = `${scene.run}-hidden`;
    renameSync(scene.run, hidden);
    scene.git(['worktree', 'prune', '--expire', 'now']);
    renameSync(hidden, scene.run);
    expect(scene.git(['status', '--porcelain'], path)).toBe('');
  });

  it('R5: several steps at once each get their own', async () => {
    const { make } = await scene.open();
    const steps = ['a', 'a1', 'b'].map(stepId);
    const made = await Promise.all(steps.map((step) => make(step, scene.repository)));
    expect(made.map(({ cwd }) => scene.git(['branch', '--show-current'], cwd).trim())).toEqual(
      steps.map((step) => `pi/${scene.runId}/${step}`),
    );
  });

  it('R5: a worktree of a worktree begins at that one’s commit', async () => {
    const other = `${scene.repository}-other`;
    scene.git(['worktree', 'add', '--quiet', '-b', 'other', other]);
    writeFileSync(join(other, 'more.txt'), 'more\n');
    scene.git(['add', '.'], other);
    scene.git(['commit', '--quiet', '-m', 'more'], other);
    const { make } = await scene.open();
    const { cwd } = await make(STEP, other);
    expect(existsSync(join(cwd, 'more.txt'))).toBe(true);
  });

  it('R5: what an agent has done in it stays, whoever asks for it again', async () => {
    await (await scene.open()).make(STEP, scene.repository);
    writeFileSync(join(path, 'readme.txt'), 'changed\n');
    writeFileSync(join(scene.repository, 'later.txt'), '');
    scene.git(['add', '.']);
    scene.git(['commit', '--quiet', '-m', 'later']);
    expect(await (await scene.open()).make(STEP, scene.repository)).toEqual({ cwd: path });
    expect(readFileSync(join(path, 'readme.txt'), 'utf8')).toBe('changed\n');
  });

  it('R5: what an agent has done stays where somebody has removed the list of worktrees', async () => {
    await (await scene.open()).make(STEP, scene.repository);
    writeFileSync(join(path, 'readme.txt'), 'changed\n');
    rmSync(join(scene.run, 'worktrees.json'));
    await expect((await scene.open()).make(STEP, scene.repository)).rejects.toThrow('its list does not name');
    expect(readFileSync(join(path, 'readme.txt'), 'utf8')).toBe('changed\n');
    expect(await record()).toBeUndefined();
  });

  it('R5: one that somebody has removed is made again with what was committed in it', async () => {
    await (await scene.open()).make(STEP, scene.repository);
    writeFileSync(join(path, 'done.txt'), 'done\n');
    scene.git(['add', '.'], path);
    scene.git(['commit', '--quiet', '-m', 'done'], path);
    rmSync(path, { recursive: true });
    await (await scene.open()).make(STEP, scene.repository);
    expect(readFileSync(join(path, 'done.txt'), 'utf8')).toBe('done\n');
  });

  it('R5: hooks of the repository do not run', async () => {
    const hook = join(scene.repository, '.git', 'hooks', 'post-checkout');
    writeFileSync(hook, `#!/bin/sh\ntouch ${scene.repository}/ran\n`);
    chmodSync(hook, 0o755);
    await (await scene.open()).make(STEP, scene.repository);
    expect(existsSync(join(scene.repository, 'ran'))).toBe(false);
  });

  it('R5: what is no repository, is bare, or has no commit is refused with the next step', async () => {
    const { make } = await scene.open();
    const plain = join(scene.repository, '..', 'plain');
    mkdirSync(plain);
    await expect(make(STEP, plain)).rejects.toThrow(`${plain} can have no worktree: not a git repository`);
    scene.git(['init', '--quiet'], plain);
    await expect(make(STEP, plain)).rejects.toThrow('its repository has no commit yet');
    const bare = `${plain}.git`;
    scene.git(['init', '--quiet', '--bare', bare]);
    await expect(make(STEP, bare)).rejects.toMatchObject({
      code: 'failed',
      message: expect.stringContaining('must be run in a work tree'),
      hint: expect.stringContaining('git repository that has a commit'),
    });
    expect(await record()).toBeUndefined();
  });

  it('R5: a link that has taken a worktree’s place is not followed', async () => {
    await (await scene.open()).make(STEP, scene.repository);
    rmSync(path, { recursive: true });
    symlinkSync(scene.repository, path);
    await expect((await scene.open()).make(STEP, scene.repository)).rejects.toThrow('was replaced');
  });
});
