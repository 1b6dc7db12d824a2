import { findLosses } from '../checker.ts';
import { expectClearFailure, expectPlainWords, expectSuccess, expectThat } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import type { World } from '../world.ts';

const SIZE_KIB = 2_048;
const PAGE_KIB = 4;

/** A small memory file system as the volume of that name, kept mounted by a container that does nothing else. */
async function plant(world: World, volume: string): Promise<string> {
  const owner = process.getuid?.() === 0 ? 1000 : (process.getuid?.() ?? 1000);
  // Not `size`, which Podman takes for a quota of its own.
  const options = `o=nr_blocks=${SIZE_KIB / PAGE_KIB},uid=${owner},gid=${owner},mode=0700`;
  const create = ['volume', 'create', '--opt', 'type=tmpfs', '--opt', 'device=tmpfs', '--opt', options];
  await world.engine([...create, volume]);
  const run = [...world.plainRun, '--detach', '--label', 'faults.keeper=volume'];
  const mount = `type=volume,source=${volume},target=/v`;
  const keeper = await world.engine([...run, '--mount', mount, '--entrypoint', 'sleep', world.image, '600']);
  return keeper.trim();
}

async function inKeeper(world: World, keeper: string, script: string): Promise<string> {
  return world.engine(['exec', '--user', '0:0', keeper, 'sh', '-c', script]);
}

export const fullVolume: FaultCase<World> = {
  name: 'full-volume',
  about:
    'a volume with little or no room left: a start says so or works, no state is torn, and with room the next one works',
  tries: { usual: 24, few: 1 },
  async attempt(world, random, note) {
    await world.wipe();
    const project = world.project();
    const volume = random.pick([
      world.volume('domain-state', 'one'),
      world.volume('domain-state', 'one'),
      world.volume('sessions', 'one'),
      `${world.prefix}pi-agent-state`,
    ]);
    const keeper = await plant(world, volume);
    try {
      const settled = random.below(2) === 0;
      if (settled) {
        await expectSuccess(world.demo(project), 'the start with room failed');
        await expectSuccess(world.entry(project), 'the start with room failed');
        await world.stopAll();
      }
      const room = random.pick([0, 0, PAGE_KIB, 2 * PAGE_KIB, PAGE_KIB * random.below(24)]);
      note(`${volume.slice(world.prefix.length)} with ${room} KiB, ${settled ? 'used before' : 'fresh'}`);
      await inKeeper(
        world,
        keeper,
        `free=$(df -k --output=avail /v | tail -n 1); dd if=/dev/zero of=/v/.filler bs=1k count=$((free - ${room})) 2>/dev/null; :`,
      );
      for (const start of [world.entry, world.demo]) {
        const outcome = await start(project).outcome;
        expectPlainWords(outcome);
        // Programs say it in words of their own, some of them wrongly; the sandbox says it too.
        const told = /no space left|ENOSPC/i;
        if (outcome.code !== 0)
          expectThat(told.test(outcome.stderr), 'it does not say that there is no room', outcome);
        if (outcome.stderr.includes('could not be set up')) expectClearFailure(outcome, told);
      }
      await world.tryEngine(['exec', '--user', '0:0', keeper, 'rm', '-f', '/v/.filler']);
      await expectSuccess(world.entry(project), 'with room again, a shell failed');
      await expectSuccess(world.demo(project), 'with room again, pi failed');
      await world.stopAll();
      // Looked at here too: the volume's content goes with its last mount.
      const lost = await findLosses(world);
      expectThat(lost.length === 0, `lost: ${lost.join(', ')}`);
    } finally {
      await world.stopAll();
      await world.tryEngine(['kill', keeper]);
      await world.tryEngine(['wait', keeper]);
      await world.wipe();
    }
  },
};
