import { setTimeout as sleep } from 'node:timers/promises';
import { allOf, expectSuccess, expectThat } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import type { World } from '../world.ts';

/** So short that a start meets the closing sandbox at any step of its end. */
const IDLE_MINUTES = 0.01;
const IDLE_MS = IDLE_MINUTES * 60_000;

export const idleStop: FaultCase<World> = {
  name: 'idle-stop',
  about: 'starts around the moment of the idle stop: each joins or makes a new container, none fails',
  tries: { usual: 40, few: 1 },
  async attempt(world, random, note, { crowd }) {
    const env = { PI_SANDBOX_IDLE_STOP_MINUTES: String(IDLE_MINUTES) };
    const project = world.project();
    await expectSuccess(world.entry(project, { env }), 'the first start failed');
    const starts = Array.from({ length: Math.min(crowd, 4) }, async () => {
      const wait = Math.round(random.fraction() * 1.6 * IDLE_MS);
      note(`after ${wait} ms`);
      await sleep(wait);
      await expectSuccess(world.entry(project, { env }), `a start ${wait} ms later failed`);
    });
    await allOf(starts);
  },
};

export const stopping: FaultCase<World> = {
  name: 'stop',
  about:
    'starts around `stop`: each joins before it, makes a new container after it, or is ended by it and says so',
  tries: { usual: 40, few: 1 },
  async attempt(world, random, note, { crowd }) {
    const project = world.project();
    await expectSuccess(world.entry(project), 'the first start failed');
    const stop = world.command(['stop', project]);
    const starts = Array.from({ length: Math.min(crowd, 4) }, async () => {
      const wait = random.below(900);
      note(`after ${wait} ms`);
      await sleep(wait);
      const outcome = await world.entry(project).outcome;
      // Accepted before the stop and ended by it is right too; it has been told so by a signal's exit code.
      const ended =
        outcome.code === 143 || outcome.code === 129 || /was stopped or killed/.test(outcome.stderr);
      expectThat(outcome.code === 0 || ended, `a start ${wait} ms after stop began failed`, outcome);
    });
    await allOf(starts);
    const stopped = await stop.outcome;
    expectThat(stopped.code === 0, 'stop failed', stopped);
  },
};
