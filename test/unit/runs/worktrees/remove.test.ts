import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readWorktrees, type Worktrees, worktreeDirectory } from '../../../../src/runs/index.ts';
import { STEP, type WorktreeScene, worktreeScene } from '../../../setup/worktree-scene.ts';

let scene: WorktreeScene;
let worktrees: Worktrees;
let path: string;
let branch: string;
beforeEach(async () => {
  scene = await worktreeScene();
  path = worktreeDirectory(scene.run, STEP);
  branch = `pi/${scene.runId}/${STEP}`;
  worktrees = await scene.open();
  await worktrees.make(STEP, scene.repository);
});
afterEach(() => scene.close());

function commit(name: string): void {
  writeFileSync(join(path, name), `${name}\n`);
  scene.git(['add', '.'], path);
  scene.git(['commit', '--quiet', '-m', `add ${name}`], path);
}

function branches(): string[] {
  return scene.git(['branch', '--list', 'pi/*', '--format=%(refname:short)']).split('\n').filter(Boolean);
}

async function isCleanedUp(): Promise<boolean | undefined> {
  const facts = await readWorktrees(scene.run);
  return facts.kind === 'known' ? facts.value[0]?.cleanedUp : undefined;
}

describe('removing a worktree (R5)', () => {
  it('R5: a clean one goes with its branch and its record in the repository', async () => {
    expect(await worktrees.remove(STEP, { force: false })).toEqual({ keptBranches: [] });
    expect(existsSync(path)).toBe(false);
    expect(branches()).toEqual([]);
    expect(scene.git(['worktree', 'list']).trim().split('\n')).toHaveLength(1);
    expect(await isCleanedUp()).toBe(true);
    expect(await (await scene.open()).remove(STEP, { force: false })).toEqual({ keptBranches: [] });
  });

  it('R5: with changed and new files it stays, and they are named', async () => {
    writeFileSync(join(path, 'readme.txt'), 'changed\n');
    writeFileSync(join(path, 'new\nname.txt'), '');
    await expect(worktrees.remove(STEP, { force: false })).rejects.toMatchObject({
      code: 'worktree-dirty',
      message: expect.stringMatching(/changed files: readme\.txt, new.*name\.txt/),
      details: { step: STEP, worktreePath: path },
    });
    expect(existsSync(join(path, 'readme.txt'))).toBe(true);
    expect(await isCleanedUp()).toBe(false);
  });

  it('R5: of many files a few are named and the rest is counted', async () => {
    for (let file = 0; file < 70; file++) writeFileSync(join(path, `new-${file}`), '');
    const { dirtyFiles } = await worktrees.look(STEP);
    expect([dirtyFiles.first.length, dirtyFiles.more]).toEqual([50, 20]);
    await expect(worktrees.remove(STEP, { force: false })).rejects.toThrow(/new-0, .* and 60 more/);
  });

  it('R5: with commits that are nowhere else it stays, and they are named', async () => {
    commit('work.txt');
    expect((await worktrees.look(STEP)).unpushedCommits.first).toEqual([
      expect.stringMatching(/^[0-9a-f]{7,} add work\.txt$/),
    ]);
    await expect(worktrees.remove(STEP, { force: false })).rejects.toThrow('add work.txt');
  });

  it('R5: with commits that another branch has too it goes', async () => {
    commit('work.txt');
    scene.git(['merge', '--quiet', branch]);
    expect(await worktrees.remove(STEP, { force: false })).toEqual({ keptBranches: [] });
    expect(existsSync(join(scene.repository, 'work.txt'))).toBe(true);
    expect(branches()).toEqual([]);
  });

  it('R5: force takes the files, and never the commits', async () => {
    commit('work.txt');
    writeFileSync(join(path, 'more.txt'), '');
    expect(await worktrees.remove(STEP, { force: true })).toEqual({ keptBranches: [branch] });
    expect(existsSync(path)).toBe(false);
    expect(scene.git(['show', `${branch}:work.txt`])).toBe('work.txt\n');
  });

  it('R5: commits on no branch at all get one', async () => {
    scene.git(['checkout', '--quiet', '--detach'], path);
    commit('work.txt');
    await expect(worktrees.remove(STEP, { force: false })).rejects.toThrow('add work.txt');
    expect(await worktrees.remove(STEP, { force: true })).toEqual({ keptBranches: [`${branch}.detached`] });
    expect(scene.git(['show', `${branch}.detached:work.txt`])).toBe('work.txt\n');
  });

  it('R5: a branch that is checked out elsewhere stays', async () => {
    scene.git(['checkout', '--quiet', '--ignore-other-worktrees', branch]);
    expect(await worktrees.remove(STEP, { force: false })).toEqual({ keptBranches: [branch] });
    expect(scene.git(['status', '--porcelain', '--branch'])).toBe(`## ${branch}\n`);
  });

  it('R5: where the repository has gone it goes if its diff is kept, or by force', async () => {
    rmSync(join(scene.repository, '.git'), { recursive: true });
    await expect(worktrees.remove(STEP, { force: false })).rejects.toThrow(
      `it cannot be told what is in it, for its repository ${scene.repository} has gone`,
    );
    await worktrees.remove(STEP, { force: true });
    expect([existsSync(path), await isCleanedUp()]).toEqual([false, true]);
  });

  it('R5: where the repository has gone after its diff was written it goes', async () => {
    writeFileSync(join(path, 'readme.txt'), 'changed\n');
    await worktrees.writeDiff(STEP);
    rmSync(scene.repository, { recursive: true });
    expect((await worktrees.look(STEP)).repositoryGone).toBe(true);
    await worktrees.remove(STEP, { force: false });
    expect([existsSync(path), await isCleanedUp()]).toEqual([false, true]);
  });

  it('R5: where git cannot look into the repository, which is there, it stays', async () => {
    await worktrees.writeDiff(STEP);
    writeFileSync(join(path, 'later.txt'), 'more\n');
    writeFileSync(join(scene.repository, '.git', 'config'), 'no configuration');
    await expect(worktrees.remove(STEP, { force: false })).rejects.toThrow(/cannot be told .* bad config/);
    expect(existsSync(join(path, 'later.txt'))).toBe(true);
    await worktrees.remove(STEP, { force: true });
    expect(existsSync(path)).toBe(false);
  });

  it('R5: a diff that was cut is none that keeps all', async () => {
    writeFileSync(join(path, 'long.txt'), 'long\n'.repeat(1_000_000));
    await worktrees.writeDiff(STEP);
    rmSync(join(scene.repository, '.git'), { recursive: true });
    await expect(worktrees.remove(STEP, { force: false })).rejects.toThrow('it cannot be told what is in it');
  });

  it('R5: where its directory has gone, its branch and the repository’s record go', async () => {
    rmSync(path, { recursive: true });
    await worktrees.remove(STEP, { force: false });
    expect(branches()).toEqual([]);
    expect(existsSync(join(scene.repository, '.git', 'worktrees'))).toBe(false);
  });

  it('R5: where the repository does not know it any more it goes by force', async () => {
    rmSync(join(scene.repository, '.git', 'worktrees'), { recursive: true });
    await expect(worktrees.remove(STEP, { force: false })).rejects.toThrow('knows no such worktree any more');
    await worktrees.remove(STEP, { force: true });
    expect([existsSync(path), branches()]).toEqual([false, []]);
  });

  it('R5: of a link at its place only the link goes', async () => {
    rmSync(path, { recursive: true });
    const elsewhere = join(scene.repository, '..', 'elsewhere');
    mkdirSync(elsewhere);
    // It even claims to be the worktree.
    writeFileSync(join(elsewhere, '.git'), `gitdir: ${scene.repository}/.git/worktrees/${STEP}\n`);
    writeFileSync(join(elsewhere, 'precious.txt'), 'precious\n');
    symlinkSync(elsewhere, path);
    await worktrees.remove(STEP, { force: true });
    expect(existsSync(path)).toBe(false);
    expect(readFileSync(join(elsewhere, 'precious.txt'), 'utf8')).toBe('precious\n');
  });

  it('R5: links inside it are not followed', async () => {
    symlinkSync(scene.repository, join(path, 'link'));
    await worktrees.remove(STEP, { force: true });
    expect(existsSync(join(scene.repository, 'readme.txt'))).toBe(true);
  });

  it('R5: a .git that leads to a clean repository does not hide what is changed', async () => {
    const other = `${scene.repository}-other`;
    scene.git(['clone', '--quiet', scene.repository, other]);
    writeFileSync(join(path, 'readme.txt'), 'changed\n');
    writeFileSync(join(path, '.git'), `gitdir: ${other}/.git\n`);
    await expect(worktrees.remove(STEP, { force: false })).rejects.toThrow('readme.txt');
    await worktrees.remove(STEP, { force: true });
    expect(existsSync(join(other, '.git'))).toBe(true);
  });

  it('R5: a directory of the record that is not the run’s own is not touched', async () => {
    const file = join(scene.run, 'worktrees.json');
    const elsewhere = join(scene.repository, '..', 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(`"${path}"`, `"${elsewhere}"`));
    await (await scene.open()).remove(STEP, { force: true });
    expect([existsSync(elsewhere), existsSync(path)]).toEqual([true, false]);
  });

  it('R5: a monitor of the file system that the repository names is not run', async () => {
    const monitor = join(scene.repository, '..', 'monitor');
    writeFileSync(monitor, `#!/bin/sh\ntouch ${scene.repository}/ran\n`);
    chmodSync(monitor, 0o755);
    scene.git(['config', 'core.fsmonitor', monitor]);
    await worktrees.look(STEP);
    await worktrees.remove(STEP, { force: false });
    expect(existsSync(join(scene.repository, 'ran'))).toBe(false);
  });

  it('R5: a repository that was moved away and is back is looked at again', async () => {
    const away = `${scene.repository}-away`;
    renameSync(scene.repository, away);
    expect((await worktrees.look(STEP)).repositoryGone).toBe(true);
    renameSync(away, scene.repository);
    expect((await worktrees.look(STEP)).repositoryGone).toBe(false);
  });
});
