import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { diffArtifact, LIMITS, type Worktrees, worktreeDirectory } from '../../../../src/runs/index.ts';
import { STEP, type WorktreeScene, worktreeScene } from '../../../setup/worktree-scene.ts';

let scene: WorktreeScene;
let worktrees: Worktrees;
let path: string;
beforeEach(async () => {
  scene = await worktreeScene();
  path = worktreeDirectory(scene.run, STEP);
  worktrees = await scene.open();
  await worktrees.make(STEP, scene.repository);
});
afterEach(() => scene.close());

async function diff(): Promise<string> {
  await worktrees.writeDiff(STEP);
  return readFileSync(diffArtifact(scene.run, STEP), 'utf8');
}

describe('the diff of a worktree (R5)', () => {
  it('R5: has all that it has more than its base, and makes the same tree of it elsewhere', async () => {
    writeFileSync(join(path, 'committed.txt'), 'committed\n');
    scene.git(['add', '.'], path);
    scene.git(['commit', '--quiet', '-m', 'work'], path);
    writeFileSync(join(path, 'staged.txt'), 'staged\n');
    scene.git(['add', 'staged.txt'], path);
    writeFileSync(join(path, 'readme.txt'), 'one\nchanged\n');
    rmSync(join(path, 'lib', 'a.js'));
    writeFileSync(join(path, 'new\nfile.bin'), Buffer.from([0, 1, 2, 255]));
    writeFileSync(join(path, 'ignored.log'), 'noise\n');
    const text = await diff();
    expect(text).not.toContain('ignored.log');
    execFileSync('git', ['apply'], { cwd: scene.repository, env: scene.env, input: text });
    for (const name of ['committed.txt', 'staged.txt', 'readme.txt', 'new\nfile.bin'])
      expect(readFileSync(join(scene.repository, name))).toEqual(readFileSync(join(path, name)));
    expect(existsSync(join(scene.repository, 'lib', 'a.js'))).toBe(false);
  });

  it('R5: leaves what the agent has staged as it is, and nothing beside it', async () => {
    writeFileSync(join(path, 'staged.txt'), 'staged\n');
    scene.git(['add', 'staged.txt'], path);
    writeFileSync(join(path, 'new.txt'), 'new\n');
    const before = scene.git(['status', '--porcelain'], path);
    const beside = readdirSync(join(scene.run, 'worktrees'));
    await diff();
    expect(scene.git(['status', '--porcelain'], path)).toBe(before);
    expect(readdirSync(join(scene.run, 'worktrees'))).toEqual(beside);
  });

  it('R5: is empty where nothing was done', async () => {
    expect(await diff()).toBe('');
  });

  it('R5: is as long as it may be, and its last line says that it was cut', async () => {
    const line = `${'x'.repeat(99)}\n`;
    writeFileSync(join(path, 'long.txt'), line.repeat(LIMITS.outputBytes / 100 + 1_000));
    const text = await diff();
    expect(text.length).toBeLessThanOrEqual(LIMITS.outputBytes);
    expect(text.trimEnd().split('\n').at(-1)).toBe(
      `\\ Cut here: the diff has more than ${LIMITS.outputBytes} bytes. All of it is in ${path}`,
    );
  });

  it('R5: a repository inside it, with a history of its own, is passed over', async () => {
    mkdirSync(join(path, 'inner'));
    scene.git(['init', '--quiet'], join(path, 'inner'));
    writeFileSync(join(path, 'new.txt'), 'new\n');
    expect(await diff()).toContain('+++ b/new.txt');
  });

  it('R5: is that of the worktree, wherever its own .git leads', async () => {
    const other = `${scene.repository}-other`;
    scene.git(['clone', '--quiet', scene.repository, other]);
    writeFileSync(join(path, '.git'), `gitdir: ${other}/.git\n`);
    writeFileSync(join(path, 'new.txt'), 'new\n');
    expect(await diff()).toContain('+++ b/new.txt');
  });

  it('R5: programs that the user’s settings name for people are not run', async () => {
    scene.git(['config', 'diff.external', '/bin/false']);
    scene.git(['config', 'core.pager', '/bin/false']);
    scene.git(['config', 'diff.noprefix', 'true']);
    writeFileSync(join(path, 'readme.txt'), 'changed\n');
    expect(await diff()).toContain('--- a/readme.txt\n+++ b/readme.txt\n');
  });

  it('R5: is absent where git cannot look', async () => {
    renameSync(join(scene.repository, '.git'), join(scene.repository, '.gone'));
    await expect(worktrees.writeDiff(STEP)).rejects.toThrow('the diff of step implement cannot be made');
    expect(existsSync(diffArtifact(scene.run, STEP))).toBe(false);
  });
});
