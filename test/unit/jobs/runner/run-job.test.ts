import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runJob } from '../../../../src/jobs/index.ts';
import { isHeld } from '../../../../src/lib/kernel-lock.ts';
import { fileOf, type JobWorld, jobWorld } from '../../../setup/job-world.ts';

let world: JobWorld;
beforeAll(async () => {
  world = await jobWorld();
});
afterAll(() => world.stop());

describe('a run (J2, J4)', () => {
  it('J2: that is done leaves its result, and a free lock', async () => {
    world.model.say('greet', 'good morning');
    const held = await world.hold('greet', 'greet me');
    expect(await runJob(held, world.options)).toEqual({ status: 'done', reason: 'done' });
    const told = (['status', 'exit_code', 'output.txt', 'model', 'reason'] as const).map((name) =>
      fileOf(held.directory, name),
    );
    expect(told).toEqual(['done', '0', 'good morning', 'fake/fake-1', 'done']);
    expect(fileOf(held.directory, 'ended_at')).toMatch(/^\d{4}-\d\d-\d\dT.*\.\d{3}Z$/);
    expect(isHeld(`${held.directory}/lock`)).toBe(false);
  });

  it('J6: tells the result of one that is done when pi has it, and of no other', async () => {
    world.model.say('be quick', 'here it is');
    world.model.fail('go wrong', 400, 'no such model');
    const told: [string, string | undefined][] = [];
    for (const prompt of ['be quick', 'go wrong']) {
      const held = await world.hold(prompt.replace(' ', '-'), prompt);
      const onResult = (text: string): void => void told.push([text, fileOf(held.directory, 'exit_code')]);
      await runJob(held, { ...world.options, onResult });
    }
    expect(told).toEqual([['here it is', undefined]]);
  });
});
