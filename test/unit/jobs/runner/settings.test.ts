import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runJob } from '../../../../src/jobs/index.ts';
import { ask, watchUntil } from '../../../setup/job-socket.ts';
import { fileOf, type JobWorld, jobWorld } from '../../../setup/job-world.ts';

let world: JobWorld;
beforeAll(async () => {
  world = await jobWorld();
});
afterAll(() => world.stop());

describe('settings that others hold locked (J4, S8)', () => {
  it('J4: pi is started again until it has read them', async () => {
    world.model.say('settle', 'settled');
    const held = await world.hold('settle', 'settle');
    const lock = join(world.directory, 'agent/settings.json.lock');
    mkdirSync(lock);
    const running = runJob(held, world.options);
    await watchUntil(held, (text) => text.startsWith('retry'));
    rmdirSync(lock);
    expect(await running).toMatchObject({ status: 'done' });
    expect(fileOf(held.directory, 'stderr.txt') ?? '').not.toContain('Lock file is already being held');
  });

  it('J6: an abort meanwhile is heeded', async () => {
    const held = await world.hold('stuck', 'stuck');
    const lock = join(world.directory, 'agent/settings.json.lock');
    mkdirSync(lock);
    const running = runJob(held, world.options);
    await watchUntil(held, (text) => text.startsWith('retry'));
    expect(await ask(held, { version: 1, op: 'abort' })).toEqual({ ok: true, status: 'aborted' });
    await running;
    rmdirSync(lock);
  });
});
