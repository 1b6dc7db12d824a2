import { expectClearFailure, expectPlainWords, expectSuccess, expectThat } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import type { World } from '../world.ts';
import { somePoint } from './moments.ts';

/** How the processes of a container are found: by a word of their command line, which pi makes `pi` alone in time. */
const PROCESSES = {
  supervisor: 'supervisor',
  launcher: '/bin/pi',
  pi: 'pi-coding-agent\\|^pi$',
  bridge: 'socat',
} as const;

async function kill(world: World, what: keyof typeof PROCESSES | 'container'): Promise<void> {
  for (const container of await world.containers()) {
    if (what === 'container') {
      await world.tryEngine(['kill', container]);
      continue;
    }
    const script = `for p in /proc/[0-9]*; do tr '\\0' '\\n' <$p/cmdline | grep -qa -- '${PROCESSES[what]}' && [ $p != /proc/1 ] && [ $p != /proc/$$ ] && kill -9 \${p#/proc/}; done; :`;
    await world.tryEngine(['exec', '--user', '0:0', container, 'sh', '-c', script]);
  }
}

export const killedSandbox: FaultCase<World> = {
  name: 'killed-sandbox',
  about:
    'SIGKILL of the container, the supervisor, the launcher or pi at a random point of a start: the start says so or works, and the next one does',
  tries: { usual: 60, few: 1 },
  async attempt(world, random, note) {
    const project = world.project();
    const joining = random.below(2) === 0;
    if (joining) await expectSuccess(world.entry(project), 'the first start failed');
    const what = random.pick(['container', 'supervisor', 'launcher', 'pi', 'bridge']);
    note(`${what}, ${joining ? 'a join' : 'a cold start'}`);
    const started =
      random.below(2) === 0 ? world.demo(project) : world.shell(project, ['sh', '-c', 'echo up; sleep 0.4']);
    await somePoint(world, random, 1_200, note);
    await kill(world, what);
    const outcome = await started.outcome;
    expectPlainWords(outcome);
    // Its own program killed is 137, as a shell would report it.
    if (outcome.code !== 0 && outcome.code !== 137) {
      expectClearFailure(outcome, /stopped or killed|was lost|is gone|ended|it was killed/);
    }
    const next = await expectSuccess(world.demo(project), 'the next start failed');
    expectThat(next.stdout.trim() !== '', 'pi did not answer', next);
  },
};

export const removedByHand: FaultCase<World> = {
  name: 'removed-by-hand',
  about: 'volumes and networks removed by hand between starts or during one: they are made again',
  tries: { usual: 30, few: 1 },
  async attempt(world, random, note) {
    const project = world.project();
    await expectSuccess(world.entry(project), 'the first start failed');
    const network = await world.network();
    const scene = random.pick(['volumes', 'network', 'network during a start', 'network in use']);
    note(scene);
    if (scene === 'network in use') {
      for (const container of await world.containers()) {
        await world.engine(['network', 'disconnect', '--force', network, container]);
      }
      await world.engine(['network', 'rm', network]);
      await expectSuccess(world.entry(project), 'a join without the network failed');
      await world.stopAll();
    } else {
      await world.stopAll();
      if (scene === 'volumes') {
        // One that is missing beside one that is there.
        if (random.below(2) === 0) await world.wipe();
        else await world.engine(['volume', 'rm', `${world.prefix}pi-agent-state`]);
      }
    }
    const started = world.entry(project);
    if (scene === 'network during a start') {
      await world.events.next('network create', 2_000);
      for (let left = 1 + random.below(3); left > 0; left--) {
        // By its id: by its name Podman leaves alone what a container has, which a stop can still be too late to see.
        const ids = await world.engine(['network', 'ls', '--quiet', '--filter', `name=${network}`]);
        for (const id of ids.split('\n').filter(Boolean)) await world.tryEngine(['network', 'rm', id]);
      }
    }
    await expectSuccess(started, 'the start failed');
  },
};
