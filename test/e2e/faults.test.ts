import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { START_FAULTS } from '../faults/cases/index.ts';
import { findLosses, lookOnce } from '../faults/checker.ts';
import { runCase } from '../faults/run-case.ts';
import { openWorld, type World } from '../faults/world.ts';

/** Fixed, so that a failure here is the same one everywhere; `npm run faults` takes others. */
const SEED = 'ci';
const CROWD = 8;

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('e2e'));
});

afterAll(async () => {
  await world.close();
});

describe('S14: a start under faults (docs/faults.md; many more: npm run faults)', () => {
  it('S14: the checker sees what is there and misses what is not', async () => {
    const project = world.project();
    await world.entry(project).outcome;
    const socket = createServer().listen(join(world.directory, 'left.sock'));
    await once(socket, 'listening');
    const seen = await lookOnce(world);
    socket.close();
    for (const kind of ['containers', 'networks', 'processes', 'mount points', 'sockets'] as const) {
      expect(seen[kind], kind).not.toEqual([]);
    }
    await world.shell(project, ['sh', '-c', ': > ~/entries']).outcome;
    expect(await findLosses(world)).toEqual([expect.stringContaining('entry')]);
    await world.stopAll();
    await world.wipe();
  });

  for (const fault of START_FAULTS) {
    it(`S14: ${fault.name}: ${fault.about}`, async () => {
      const options = { seed: SEED, from: 0, count: fault.tries.few, crowd: CROWD };
      const { failures, survived, lost } = await runCase(world, fault, options);
      expect(failures).toEqual([]);
      expect({ survived, lost }).toEqual({ survived: fault.tries.few, lost: 0 });
    });
  }
});
