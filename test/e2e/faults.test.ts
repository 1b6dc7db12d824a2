import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { START_FAULTS } from '../faults/cases/index.ts';
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
  for (const fault of START_FAULTS) {
    it(`S14: ${fault.name}: ${fault.about}`, async () => {
      const options = { seed: SEED, from: 0, count: fault.tries.few, crowd: CROWD };
      const { failures, survived, lost } = await runCase(world, fault, options);
      expect(failures).toEqual([]);
      expect({ survived, lost }).toEqual({ survived: fault.tries.few, lost: 0 });
    });
  }
});
