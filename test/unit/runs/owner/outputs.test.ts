import { readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../../src/lib/clock.ts';
import { LIMITS, type OwnerDeps, ownRun } from '../../../../src/runs/index.ts';
import { fileOf } from '../../../setup/job-world.ts';
import { eventsOf, outputOf, type RunWorld, runWorld, statusesOf } from '../../../setup/run-world.ts';

let world: RunWorld;
beforeAll(async () => {
  world = await runWorld();
});
afterAll(() => world.stop());

describe('what steps leave for others (R3, R4)', () => {
  it('R4: a prompt takes the output of what it needs, as it is', async () => {
    // What is put in is data: a place in it is none.
    const data = 'use ${steps.plan.output} and $& of it';
    world.model.say('plan the thing', data);
    world.model.say('build this', 'built');
    const held = await world.create([
      { id: 'plan', prompt: 'plan the thing' },
      { id: 'build', prompt: 'build this: <${steps.plan.output}> $${HOME}', needs: ['plan'] },
    ]);
    expect((await ownRun(held, world.deps)).status).toBe('succeeded');
    expect(fileOf(world.jobOf(held, 'build'), 'prompt.txt')).toBe(`build this: <${data}> \${HOME}`);
  });

  it('R4: a long output is cut between characters, with the path of all of it', async () => {
    const long = `x${'é'.repeat(LIMITS.insertedBytes)}`;
    world.model.say('write much', long);
    world.model.say('sum up', 'summed');
    const held = await world.create([
      { id: 'much', prompt: 'write much' },
      { id: 'sum', prompt: 'sum up ${steps.much.output}', needs: ['much'] },
    ]);
    expect((await ownRun(held, world.deps)).status).toBe('succeeded');
    const prompt = fileOf(world.jobOf(held, 'sum'), 'prompt.txt') ?? '';
    const [text = '', told] = prompt.split('\n');
    expect(text).toBe(`sum up x${'é'.repeat(LIMITS.insertedBytes / 2 - 1)}`);
    expect(told).toBe(
      `[cut here, after 65536 of ${Buffer.byteLength(long)} bytes; all of it is in ${held.directory}/artifacts/much.output.md]`,
    );
    expect(outputOf(held, 'much')).toBe(long);
  });

  it('R3: an output that is too long is kept up to the limit, and the step has failed', async () => {
    const held = await world.create([{ id: 'flood', prompt: 'flood' }]);
    const orphan = await world.withJob(held, 'flood', { output: 'y'.repeat(LIMITS.outputBytes + 1) });
    const state = await ownRun(orphan, world.deps);
    expect(statusesOf(state)).toEqual({ flood: 'failed' });
    expect(state.steps.flood?.reason).toMatch(/^output: it has 4194305 bytes, 4194304 is the most/);
    expect(statSync(`${held.directory}/artifacts/flood.output.md`).size).toBe(LIMITS.outputBytes);
  });

  it('R3: an output that is a link leads nowhere, and the step has failed', async () => {
    const held = await world.create([{ id: 'link', prompt: 'x' }]);
    const orphan = await world.withJob(held, 'link', { output: 'y' });
    const output = join(world.jobOf(held, 'link'), 'output.txt');
    rmSync(output);
    symlinkSync('/etc/passwd', output);
    const state = await ownRun(orphan, world.deps);
    expect(state.steps.link).toMatchObject({ status: 'failed' });
    expect(state.steps.link?.reason).toContain('it is a link');
    expect(readdirSync(`${held.directory}/artifacts`)).toEqual([]);
  });

  it('R4: a prompt that would be too long is not begun', async () => {
    world.model.say('write a lot', 'z'.repeat(LIMITS.insertedBytes));
    const places = '${steps.lot.output}'.repeat(LIMITS.promptBytes / LIMITS.insertedBytes);
    const held = await world.create([
      { id: 'lot', prompt: 'write a lot' },
      { id: 'all', prompt: `!${places}`, needs: ['lot'] },
    ]);
    const state = await ownRun(held, world.deps);
    expect(statusesOf(state)).toEqual({ lot: 'succeeded', all: 'failed' });
    expect(state.steps.all?.reason).toBe('its prompt would have 1048577 bytes; 1048576 is the most');
  });

  /** Looks at what is spent 50 times as often. */
  function watchful(): OwnerDeps {
    const sleep: Clock['sleep'] = (ms, signal) => systemClock.sleep(ms === 5_000 ? 100 : ms, signal);
    return { ...world.deps, clock: { ...systemClock, sleep } };
  }

  function spend(prompt: string, tokens: number): void {
    const usage = { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens };
    world.model.answer(prompt, () => ({ content: prompt, usage }));
  }

  it('J16: a step’s tokens are those of its job, and a spent budget gives the run up', async () => {
    spend('spend', 950);
    world.model.callBash('wait', 'sleep 100', 'x');
    const held = await world.create(
      [
        { id: 'spend', prompt: 'spend' },
        { id: 'wait', prompt: 'wait' },
      ],
      { settings: { maxTokens: 950 } },
    );
    const state = await ownRun(held, watchful());
    expect(state.steps.spend).toMatchObject({ status: 'succeeded', tokens: 950 });
    expect(statusesOf(state)).toEqual({ spend: 'succeeded', wait: 'canceled' });
    expect(state.status).toBe('mixed');
    expect(state.reason).toMatch(/^budget: \d+ of 950 tokens are used$/);
  });

  it('J16: at 80 % of its budget a run says so, once', async () => {
    spend('nearly', 850);
    spend('linger', 1);
    const held = await world.create(
      [
        { id: 'nearly', prompt: 'nearly' },
        { id: 'linger', prompt: 'linger', needs: ['nearly'] },
      ],
      { settings: { maxTokens: 1_000 } },
    );
    expect((await ownRun(held, watchful())).status).toBe('succeeded');
    const told = (await eventsOf(held.directory)).flatMap((event) =>
      event.type === 'budget' ? event.text : [],
    );
    expect(told).toEqual([
      expect.stringMatching(/^85\d of 1000 tokens are used; when all is spent, the run is given up$/),
    ]);
  });
});
