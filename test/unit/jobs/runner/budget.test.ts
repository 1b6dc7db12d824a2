import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type HeldJob, runJob } from '../../../../src/jobs/index.ts';
import { fileOf, type JobWorld, jobWorld } from '../../../setup/job-world.ts';

let world: JobWorld;
beforeAll(async () => {
  world = await jobWorld();
  const path = join(world.directory, 'agent/models.json');
  const models = JSON.parse(readFileSync(path, 'utf8'));
  // A dollar for a token, so that every answer costs something.
  models.providers.fake.models[0].cost = { input: 1e6, output: 1e6, cacheRead: 1e6, cacheWrite: 1e6 };
  writeFileSync(path, JSON.stringify(models));
});
afterAll(() => world.stop());

/** A model that goes on calling tools for ever, each answer at so many tokens. */
function busy(prompt: string, tokens: number): void {
  let count = 0;
  world.model.answer(prompt, () => ({
    toolCalls: [{ id: `call_${++count}`, name: 'bash', arguments: JSON.stringify({ command: 'sleep 0.2' }) }],
    usage: { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens },
  }));
}

function usage(tokens: number): string {
  const counts = { input: tokens, output: 0, cacheRead: 0, cacheWrite: 0, total: tokens };
  return JSON.stringify({ version: 1, tokens: counts, cost: tokens });
}

function log({ directory }: HeldJob): string {
  return fileOf(directory, 'progress.log') ?? '';
}

describe('budgets (J16)', () => {
  it('J16: a job is warned at 80 % and ends as failed when its tokens are used', async () => {
    busy('hungry', 30);
    const held = await world.hold('hungry', 'hungry', { maxTokens: 100 });
    const end = await runJob(held, world.options);
    expect(end).toEqual({ status: 'failed', reason: 'budget: 120 of 100 tokens are used' });
    expect(log(held)).toMatch(/ warning budget: 90 of 100 tokens are used/);
  });

  it('J16: cost is limited alike', async () => {
    busy('dear', 30);
    const held = await world.hold('dear', 'dear', { maxCost: 50 });
    expect(await runJob(held, world.options)).toMatchObject({
      status: 'failed',
      reason: 'budget: $60.00 of $50.00 are spent',
    });
  });

  it('J16: what earlier runs used counts: nothing is begun when it is spent', async () => {
    const held = await world.hold('poor', 'poor', { maxTokens: 100 });
    writeFileSync(join(held.directory, 'usage.json'), usage(100));
    const before = world.model.requests().length;
    expect(await runJob(held, world.options)).toMatchObject({ status: 'failed' });
    expect(world.model.requests()).toHaveLength(before);
  });

  it('J16: children count to their parents, and theirs do, but nobody else does', async () => {
    const held = await world.hold('parent', 'parent', { maxTokens: 100 });
    const child = await world.hold('child', 'x', { parentJob: held.directory, depth: 1 });
    const grandchild = await world.hold('grandchild', 'x', { parentJob: child.directory, depth: 2 });
    const stranger = await world.hold('stranger', 'x');
    writeFileSync(join(child.directory, 'usage.json'), usage(40));
    writeFileSync(join(grandchild.directory, 'usage.json'), usage(60));
    writeFileSync(join(stranger.directory, 'usage.json'), usage(1_000));
    expect(await runJob(held, world.options)).toMatchObject({
      reason: 'budget: 100 of 100 tokens are used',
    });
    for (const { lock } of [child, grandchild, stranger]) lock.release();
  });

  it('J16: a day has a limit for all jobs together', async () => {
    world.model.answer('day', () => ({
      content: 'spent',
      usage: { prompt_tokens: 30, completion_tokens: 0, total_tokens: 30 },
    }));
    const options = { ...world.options, env: { ...world.env, MULTI_AGENT_DAY_MAX_COST: '45' } };
    const [one, two, three] = [
      await world.hold('day-1', 'day'),
      await world.hold('day-2', 'day'),
      await world.hold('day-3', 'day'),
    ];
    expect(await runJob(one, options)).toMatchObject({ status: 'done' });
    await runJob(two, options);
    expect(await runJob(three, options)).toMatchObject({
      status: 'failed',
      reason: 'budget: $60.00 of $45.00 are spent by all jobs today',
    });
    rmSync(join(world.directory, 'state/pi-multi-agent/spending'), { recursive: true });
  });

  it('J16: a limit that is no amount lets nothing begin', async () => {
    const held = await world.hold('no-limit', 'x');
    const env = { ...world.env, MULTI_AGENT_DAY_MAX_COST: 'lots' };
    expect(await runJob(held, { ...world.options, env })).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^not-started: MULTI_AGENT_DAY_MAX_COST/),
    });
  });
});
