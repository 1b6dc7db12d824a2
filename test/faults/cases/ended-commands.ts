import { setTimeout as sleep } from 'node:timers/promises';
import { expectPlainWords, expectSuccess, expectThat, type RunningCommand } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import type { Random } from '../random.ts';
import type { World } from '../world.ts';
import { somePoint } from './moments.ts';

/** Points are chosen within this, or within what a start takes here, if that is longer. */
const SPAN_MS = 600;
/** What an interrupted start has begun in the sandbox is gone after so long. */
const GONE_MS = 5_000;

/** A start of either kind, of a fresh installation if chance or the case says so. */
async function begin(world: World, random: Random, first: boolean, note: (text: string) => void) {
  if (first) await world.wipe();
  const project = world.project();
  const kind = random.pick(['shell', 'pi']);
  note(`${first ? 'first start' : 'cold start'} of ${kind}`);
  const started: RunningCommand =
    kind === 'pi' ? world.demo(project) : world.shell(project, ['sh', '-c', 'echo up; sleep 600']);
  return { project, started };
}

function killed(name: string, first: boolean, about: string): FaultCase<World> {
  let spanMs = SPAN_MS;
  return {
    name,
    about,
    tries: { usual: 100, few: 1 },
    async prepare(world) {
      const { milliseconds } = await expectSuccess(world.entry(world.project()), 'the measured start failed');
      spanMs = Math.max(SPAN_MS, milliseconds * (first ? 1.8 : 1));
      await world.stopAll();
    },
    async attempt(world, random, note) {
      const { project, started } = await begin(world, random, first, note);
      await somePoint(world, random, spanMs, note);
      started.child.kill('SIGKILL');
      await started.outcome;
      const next = await expectSuccess(world.entry(project), 'the next start failed');
      note(`the next took ${next.milliseconds} ms`);
      expectThat(next.milliseconds < spanMs * 3 + 10_000, 'the next start took too long', next);
    },
  };
}

export const killedStart = killed(
  'killed-start',
  false,
  'SIGKILL of the command at a random point of a cold start: the next start works, nothing is left',
);
export const killedFirstStart = killed(
  'killed-first-start',
  true,
  'the same of a first start, while volumes and network are being made',
);

export const interrupted: FaultCase<World> = {
  name: 'interrupted',
  about:
    'Ctrl-C or SIGTERM at a random point: exit code 130 or 143, nothing runs on, no container is left half made',
  tries: { usual: 60, few: 1 },
  async attempt(world, random, note) {
    const { project, started } = await begin(world, random, random.below(3) === 0, note);
    const signal = random.pick(['SIGINT', 'SIGTERM']);
    note(signal);
    await somePoint(world, random, 1_000, note);
    started.child.kill(signal);
    const outcome = await started.outcome;
    expectPlainWords(outcome);
    // It may have been done just before.
    const expected = signal === 'SIGINT' ? 130 : 143;
    expectThat(outcome.code === expected || outcome.code === 0, `the exit code is not ${expected}`, outcome);
    // The engine tells the sandbox of a lost client some tenths of a second later.
    const look = "ps -eo args --no-headers | grep -E 'cli[.]js|sleep 60[0]|bin/p[i] ' || :";
    for (const end = Date.now() + GONE_MS; ; await sleep(200)) {
      const { stdout } = await expectSuccess(
        world.shell(project, ['sh', '-c', look]),
        'the next start failed',
      );
      if (stdout === '') return;
      expectThat(Date.now() < end, `still running in the sandbox: ${stdout}`);
    }
  },
};
