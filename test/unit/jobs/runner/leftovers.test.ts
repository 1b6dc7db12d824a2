import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runJob } from '../../../../src/jobs/index.ts';
import { ask, watchUntil } from '../../../setup/job-socket.ts';
import { type JobWorld, jobWorld } from '../../../setup/job-world.ts';
import { until } from '../../../setup/pi.ts';

let world: JobWorld;
beforeAll(async () => {
  world = await jobWorld();
});
afterAll(() => world.stop());

/** Processes that sleep for so long, which nobody else does. */
function sleepers(seconds: string): number[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const isSleeper = readFileSync(`/proc/${pid}/cmdline`, 'latin1') === `sleep\0${seconds}\0`;
      return isSleeper ? [Number(pid)] : [];
    } catch {
      return [];
    }
  });
}

describe('what the tools of a job leave behind (J4)', () => {
  it.each([
    ['in the background', 'sleep $N > /dev/null 2>&1 &'],
    ['in a session of its own', 'setsid sleep $N > /dev/null 2>&1 &'],
    ['behind nohup', 'nohup sleep $N > /dev/null 2>&1 &'],
    ['forked twice', '(sleep $N > /dev/null 2>&1 &);'],
    ['that restart each other', 'for n in 1 2 3; do (while :; do sleep $N; done > /dev/null 2>&1 &); done;'],
  ])('J4: %s ends with a run that is done', async (how, script) => {
    const seconds = `${4_000 + script.length}.${process.pid}`;
    const prompt = `leave ${how}`;
    world.model.callBash(prompt, `N=${seconds}; ${script} sleep 0.1; true`, 'left');
    const held = await world.hold(`left-${script.length}`, prompt);
    const running = runJob(held, world.options);
    await watchUntil(held, (text) => text.startsWith('tool'));
    await until('the sleeper', () => sleepers(seconds).length > 0);
    expect(await running).toMatchObject({ status: 'done' });
    expect(sleepers(seconds)).toEqual([]);
  });

  it('J4: without an environment, below a tool that is killed', async () => {
    const seconds = `5000.${process.pid}`;
    world.model.callBash('hide', `env -i setsid sleep ${seconds} & wait`, 'never');
    const held = await world.hold('hide', 'hide it');
    const running = runJob(held, world.options);
    await until('the sleeper', () => sleepers(seconds).length > 0);
    await ask(held, { version: 1, op: 'kill' });
    await running;
    expect(sleepers(seconds)).toEqual([]);
  });

  it('J4: of another job goes on', async () => {
    const seconds = `6000.${process.pid}`;
    world.model.callBash('stay', `sleep ${seconds}; true`, 'never');
    world.model.say('other', 'done');
    const staying = await world.hold('stay', 'stay');
    const running = runJob(staying, world.options);
    await until('the sleeper', () => sleepers(seconds).length > 0);
    await runJob(await world.hold('other', 'other'), world.options);
    expect(sleepers(seconds)).toHaveLength(1);
    await ask(staying, { version: 1, op: 'kill' });
    await running;
    expect(sleepers(seconds)).toEqual([]);
  });
});
