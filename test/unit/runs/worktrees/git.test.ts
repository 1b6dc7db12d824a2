import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gitOf, succeed } from '../../../../src/runs/worktrees/git.ts';
import { type WorktreeScene, worktreeScene } from '../../../setup/worktree-scene.ts';

let scene: WorktreeScene;
beforeEach(async () => {
  scene = await worktreeScene();
});
afterEach(() => scene.close());

describe('git as commands on worktrees run it (R5)', () => {
  it('R5: is ended with all that it has started when it takes too long', async () => {
    const pidFile = join(scene.repository, 'pid');
    const words = ['-c', `alias.hang=!echo $$ > ${pidFile}; sleep 60`, 'hang'];
    const { code, complaint } = await gitOf(scene.env)(words, { cwd: scene.repository, milliseconds: 500 });
    expect([code, complaint]).toEqual([128, 'git took longer than 0.5 s']);
    const pid = readFileSync(pidFile, 'utf8').trim();
    // A zombie has no command line.
    const file = `/proc/${pid}/cmdline`;
    expect(existsSync(file) ? readFileSync(file, 'utf8') : '').toBe('');
  });

  it('R5: says no more than it may', async () => {
    const words = ['-c', 'alias.talk=!yes', 'talk'];
    const { stdout, cut } = await gitOf(scene.env)(words, { cwd: scene.repository, maxBytes: 1_000 });
    expect([stdout.length, cut]).toEqual([1_000, true]);
  });

  it('R5: works where it is told to, whatever the environment of its caller says', async () => {
    const env = {
      ...scene.env,
      GIT_DIR: '/nowhere',
      GIT_INDEX_FILE: '/nowhere',
      GIT_CONFIG_PARAMETERS: "'x.y'",
    };
    const top = await succeed(gitOf(env), 'look', ['rev-parse', '--show-toplevel'], {
      cwd: scene.repository,
    });
    expect(top.toString()).toBe(`${scene.repository}\n`);
  });

  it('R5: credentials that a sandbox gives git by its environment stay with it', async () => {
    const env = { ...scene.env, GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'a.b', GIT_CONFIG_VALUE_0: 'given' };
    const value = await succeed(gitOf(env), 'look', ['config', 'a.b'], { cwd: scene.repository });
    expect(value.toString()).toBe('given\n');
  });

  it('R5: where there is no git the next step is said', async () => {
    const git = gitOf({ ...scene.env, PATH: scene.run });
    await expect(git(['--version'], { cwd: scene.repository })).rejects.toMatchObject({
      message: expect.stringContaining('git could not be started'),
      hint: expect.stringContaining('check that git is installed'),
    });
  });
});
