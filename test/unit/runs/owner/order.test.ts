import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isHeld } from '../../../../src/lib/kernel-lock.ts';
import { ownRun, runLock } from '../../../../src/runs/index.ts';
import { fileOf } from '../../../setup/job-world.ts';
import {
  eventsOf,
  outputOf,
  type RunWorld,
  runWorld,
  stateOf,
  statusesOf,
} from '../../../setup/run-world.ts';

let world: RunWorld;
beforeAll(async () => {
  world = await runWorld();
});
afterAll(() => world.stop());

describe('the steps of a run (R3)', () => {
  it('R3: one after the other, each a job of the run, and the run has succeeded', async () => {
    world.model.say('plan it', 'the plan');
    world.model.say('build it', 'the build');
    const held = await world.create([
      { id: 'plan', prompt: 'plan it' },
      { id: 'build', prompt: 'build it', needs: ['plan'] },
    ]);
    const state = await ownRun(held, world.deps);
    expect(state).toMatchObject({ status: 'succeeded', terminal: true });
    expect(stateOf(held.directory)).toEqual(state);
    expect([outputOf(held, 'plan'), outputOf(held, 'build')]).toEqual(['the plan', 'the build']);
    expect(isHeld(runLock(held.directory))).toBe(false);
    const events = await eventsOf(held.directory);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(
      events.map((event) =>
        event.type === 'step'
          ? `${event.step} ${event.status}`
          : event.type === 'run'
            ? event.status
            : event.type,
      ),
    ).toEqual([
      'queued',
      'running',
      'plan running',
      'plan succeeded',
      'build running',
      'build succeeded',
      'succeeded',
    ]);
    const job = JSON.parse(readFileSync(join(world.jobOf(held, 'plan'), 'job.json'), 'utf8'));
    expect(job).toMatchObject({ startedByRun: held.manifest.runId, startedBySession: null, depth: 0 });
  });

  it('R3: what failed blocks what needs it, and not what only comes after it', async () => {
    world.model.fail('fail now', 400, 'no');
    world.model.say('clean up', 'clean');
    const held = await world.create([
      { id: 'bad', prompt: 'fail now' },
      { id: 'next', prompt: 'never', needs: ['bad'] },
      { id: 'last', prompt: 'never', needs: ['next'] },
      { id: 'after', prompt: 'clean up', after: ['bad', 'last'] },
    ]);
    const state = await ownRun(held, world.deps);
    expect(state.status).toBe('mixed');
    expect(statusesOf(state)).toEqual({
      bad: 'failed',
      next: 'blocked',
      last: 'blocked',
      after: 'succeeded',
    });
    expect(state.steps.bad?.reason).toContain('no');
    expect(state.steps.next?.reason).toBe('step "bad" has failed');
  });

  it('R3: no more steps at once than the concurrency', async () => {
    world.model.callBash('slot', 'sleep 0.3', 'through');
    const steps = ['a', 'b', 'c', 'd'].map((id) => ({ id, prompt: `slot ${id}` }));
    const held = await world.create(steps, { settings: { concurrency: 2 } });
    await ownRun(held, world.deps);
    let running = 0;
    let most = 0;
    for (const event of await eventsOf(held.directory)) {
      if (event.type !== 'step') continue;
      running += event.status === 'running' ? 1 : -1;
      most = Math.max(most, running);
    }
    expect(most).toBe(2);
  });

  it('R3: a step that takes too long has timed out, with nothing of it left', async () => {
    world.model.callBash('dawdle', 'sleep 100', 'x');
    const held = await world.create([{ id: 'slow', prompt: 'dawdle', timeout: 1.5 }]);
    const state = await ownRun(held, world.deps);
    expect([state.status, state.steps.slow?.status]).toEqual(['failed', 'timed-out']);
    expect(fileOf(world.jobOf(held, 'slow'), 'status')).toBe('timed-out');
  });

  it('R3: a step that cannot begin has failed and says why', async () => {
    const held = await world.create([
      { id: 'nowhere', prompt: 'x', cwd: 'not/there' },
      { id: 'nobody', prompt: 'x', profile: 'nobody' },
    ]);
    const state = await ownRun(held, world.deps);
    expect(state.status).toBe('failed');
    expect(state.steps.nowhere?.reason).toMatch(/^there is no directory .*not\/there$/);
    expect(state.steps.nobody?.reason).toContain('there is no profile "nobody"');
  });

  it('R4: a step works where its graph says, with its model, tools and profile', async () => {
    world.model.say('look around', 'seen');
    const held = await world.create([
      { id: 'look', prompt: 'look around', profile: 'scout', model: 'fake/fake-1', tools: ['read', 'ls'] },
    ]);
    await ownRun(held, world.deps);
    const job = JSON.parse(readFileSync(join(world.jobOf(held, 'look'), 'job.json'), 'utf8'));
    expect(job).toMatchObject({ profile: 'scout', cwd: world.project });
    expect(job.piArgs).toEqual(expect.arrayContaining(['--model', 'fake/fake-1', '--tools', 'read,ls']));
  });
});
