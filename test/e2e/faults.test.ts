import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { START_FAULTS } from '../faults/cases/index.ts';
import { findLosses, lookOnce, START_INSPECTION } from '../faults/checker.ts';
import { runCase } from '../faults/run-case.ts';
import { openWorld, type World } from '../faults/world.ts';
import { PODMAN_INSTALLED } from '../setup/engines.ts';

/** Fixed, so that a failure here is the same one everywhere; `npm run faults` takes others. */
const SEED = 'ci';
const CROWD = 6;

/** What hangs on how an engine does things, first starts in the place of later ones; the rest is the same on both. */
const ON_PODMAN = [
  'first-starts',
  'idle-stop',
  'stop',
  'killed-first-start',
  'interrupted',
  'killed-sandbox',
];
const ENGINES = PODMAN_INSTALLED ? (['docker', 'podman'] as const) : (['docker'] as const);

describe.each(ENGINES)(
  'S14: a start under faults on %s (docs/faults.md; many more: npm run faults)',
  (kind) => {
    let world: World;

    beforeAll(async () => {
      world = await openWorld(inject('e2e'), kind);
    });

    afterAll(async () => {
      await world.close();
    });

    it('S14: the checker sees what is there and misses what is not', async () => {
      const project = world.project();
      await world.entry(project).outcome;
      const socket = createServer().listen(join(world.directory, 'left.sock'));
      await once(socket, 'listening');
      const seen = await lookOnce(world);
      socket.close();
      for (const found of ['containers', 'networks', 'processes', 'mount points', 'sockets'] as const) {
        expect(seen[found], found).not.toEqual([]);
      }
      await world.shell(project, ['sh', '-c', ': > ~/entries']).outcome;
      expect(await findLosses(world)).toEqual([expect.stringContaining('entry')]);
      await world.stopAll();
      await world.wipe();
    });

    for (const fault of START_FAULTS.filter(({ name }) => kind === 'docker' || ON_PODMAN.includes(name))) {
      it(`S14: ${fault.name}: ${fault.about}`, async () => {
        const count = kind === 'docker' ? fault.tries.few : 1;
        const options = { seed: SEED, from: 0, count, crowd: CROWD };
        const { failures, survived, lost } = await runCase(world, START_INSPECTION, fault, options);
        expect(failures).toEqual([]);
        expect({ survived, lost }).toEqual({ survived: count, lost: 0 });
      });
    }
  },
);
