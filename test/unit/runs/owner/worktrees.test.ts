import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ownRun, readWorktrees, worktreeDirectory } from '../../../../src/runs/index.ts';
import { eventsOf, type RunWorld, runWorld, statusesOf } from '../../../setup/run-world.ts';
import { stepId } from '../../../setup/worktree-scene.ts';

let world: RunWorld;
beforeAll(async () => {
  world = await runWorld();
  writeFileSync(join(world.directory, 'home', '.gitconfig'), '[user]\nname = Ann\nemail = ann@example.org\n');
  writeFileSync(join(world.project, 'readme.txt'), 'one\n');
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '-m', 'begin');
});
afterAll(() => world.stop());

function git(...words: string[]): string {
  return execFileSync('git', words, { cwd: world.project, env: world.env, encoding: 'utf8' });
}

function requestsWith(text: string): string[] {
  return world.model
    .requests()
    .map((body) => JSON.stringify(body))
    .filter((body) => body.includes(text));
}

describe('steps with a worktree (R5)', () => {
  it('R5: one works in its own, and the next gets its diff and where it is', async () => {
    world.model.callBash('implement it', 'echo two >> readme.txt && git commit -qam done', 'done');
    world.model.say('review this', 'fine');
    const held = await world.create([
      { id: 'implement', prompt: 'implement it', worktree: true },
      {
        id: 'review',
        prompt: 'review this:\n${steps.implement.diff}\nin ${steps.implement.worktree}',
        needs: ['implement'],
      },
    ]);
    expect((await ownRun(held, world.deps)).status).toBe('succeeded');
    expect(readFileSync(join(world.project, 'readme.txt'), 'utf8')).toBe('one\n');
    expect(git('show', `pi/${held.manifest.runId}/implement:readme.txt`)).toBe('one\ntwo\n');
    const [review] = requestsWith('review this:');
    expect(review).toContain('+two');
    expect(review).toContain(`in ${worktreeDirectory(held.directory, stepId('implement'))}`);
    const records = await readWorktrees(held.directory);
    expect(records).toMatchObject({
      kind: 'known',
      value: [{ stepId: 'implement', made: true, cleanedUp: false }],
    });
    const events = await eventsOf(held.directory);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.map(({ type }) => type)).toContain('worktree');
  });

  it('R5: what an agent has destroyed is told, and the run goes on', async () => {
    world.model.callBash('destroy it', 'rm -rf "$(git rev-parse --git-dir)"', 'destroyed');
    world.model.say('look after', 'seen');
    const held = await world.create([
      { id: 'break', prompt: 'destroy it', worktree: true },
      { id: 'after', prompt: 'look after ${steps.break.diff}', needs: ['break'] },
    ]);
    const state = await ownRun(held, world.deps);
    expect(statusesOf(state)).toEqual({ break: 'succeeded', after: 'succeeded' });
    expect(requestsWith('look after [there is no diff of step break]')).toHaveLength(1);
    expect(await eventsOf(held.directory)).toContainEqual(
      expect.objectContaining({ type: 'problem', text: expect.stringContaining('the diff of step break') }),
    );
  });

  it('R5: where the project is no repository the step fails and says why', async () => {
    rmSync(join(world.project, '.git'), { recursive: true });
    const held = await world.create([{ id: 'alone', prompt: 'never asked', worktree: true }]);
    const state = await ownRun(held, world.deps);
    expect(state.steps).toMatchObject({
      alone: {
        status: 'failed',
        reason: expect.stringContaining('can have no worktree: not a git repository'),
      },
    });
    expect(existsSync(world.jobOf(held, 'alone'))).toBe(false);
  });
});
