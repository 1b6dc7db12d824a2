import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WORK_FAULTS } from '../../faults/cases/work.ts';
import { randomOf } from '../../faults/random.ts';
import { runCase } from '../../faults/run-case.ts';
import { makeWorkScene, type WorkScene } from '../../faults/work/scene.ts';
import { type Findings, openWorkWorld, WORK_INSPECTION, type WorkWorld } from '../../faults/work/world.ts';

/** Fixed, so that a failure here is the same one everywhere; `npm run faults` takes others. */
const SEED = 'ci';

let world: WorkWorld;
beforeAll(() => {
  world = openWorkWorld();
});
afterAll(() => world.close());

describe('W7: the checker of work roots', () => {
  const one = (scene: WorkScene, fate: string): string => {
    const found = scene.runs.find((run) => run.fate === fate);
    if (found === undefined) throw new Error(`the scene has no run that ${fate}`);
    return scene.path(found);
  };
  const deeds: [keyof Findings, (scene: WorkScene) => void][] = [
    ['lost', (scene) => rmSync(join(one(scene, 'stays'), '.pi-work-run.json'))],
    ['kept', () => undefined],
    ['unlogged', (scene) => rmSync(one(scene, 'goes'), { recursive: true })],
    ['left over', (scene) => mkdirSync(join(scene.root, `jobs/shop/.tombstone-${'a'.repeat(32)}`))],
    ['outside', (scene) => appendFileSync(join(scene.outside, 'kept'), 'y')],
    ['outside', (scene) => writeFileSync(join(scene.outside, 'new'), '')],
  ];
  it.each(deeds)('W7: sees what is %s', (kind, deed) => {
    const scene = makeWorkScene(world, randomOf('deeds'));
    deed(scene);
    expect(scene.check()[kind]).not.toEqual([]);
  });
});

describe('W4-W7: work directories under faults (docs/faults.md; many more: npm run faults)', () => {
  for (const fault of WORK_FAULTS) {
    it(`${fault.name}: ${fault.about}`, { timeout: 180_000 }, async () => {
      const options = { seed: SEED, from: 0, count: fault.tries.few, crowd: 5 };
      const { failures, survived } = await runCase(world, WORK_INSPECTION, fault, options);
      expect(failures).toEqual([]);
      expect(survived).toBe(fault.tries.few);
    });
  }
});
