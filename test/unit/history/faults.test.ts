import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HISTORY_FAULTS } from '../../faults/cases/history.ts';
import { check, type Findings } from '../../faults/history/checker.ts';
import type { Scene } from '../../faults/history/scene.ts';
import { HISTORY_INSPECTION, type HistoryWorld, openHistoryWorld } from '../../faults/history/world.ts';
import { randomOf } from '../../faults/random.ts';
import { runCase } from '../../faults/run-case.ts';

/** Fixed, so that a failure here is the same one everywhere; `npm run faults` takes others. */
const SEED = 'ci';
const CROWD = 4;

let world: HistoryWorld;
beforeAll(() => {
  world = openHistoryWorld();
});
afterAll(() => world.close());

describe('S11: the checker of histories', () => {
  const trash = (scene: Scene, path: string): string => {
    const place = join(scene.sessions, '.trash/2026-11-30', `${path}.trashed`);
    mkdirSync(dirname(place), { recursive: true });
    return place;
  };
  /** What is done to a Session or beside it, and what must then be seen. */
  const deeds: [keyof Findings, (scene: Scene, file: string, path: string) => void][] = [
    ['lost', (_, file) => rmSync(file)],
    ['twice', (scene, file, path) => copyFileSync(file, trash(scene, path))],
    ['changed', (_, file) => appendFileSync(file, 'x')],
    ['changed', (_, file) => utimesSync(file, 1, 1)],
    ['unlogged', (scene, file, path) => renameSync(file, trash(scene, path))],
    ['misplaced', (scene, file) => renameSync(file, join(scene.sessions, basename(file)))],
    ['outside', (scene) => rmSync(join(scene.outside, 'auth.json'))],
    ['outside', (scene) => writeFileSync(join(scene.outside, 'sessions/new'), '')],
    ['left over', (scene) => writeFileSync(join(scene.sessions, '.pi-sandbox-tmp-1'), '')],
  ];
  it('S11: finds nothing where nothing was done', () => {
    const scene = world.scene(randomOf('nothing'));
    expect(Object.values(check(scene)).flat()).toEqual([]);
  });
  it.each(deeds)('S11: sees what is %s', (kind, deed) => {
    const scene = world.scene(randomOf('deed', kind), { damage: {}, flat: 0 });
    const path = [...scene.known.values()][0]?.path ?? '';
    deed(scene, join(scene.sessions, path), path);
    expect(check(scene)[kind]).not.toEqual([]);
  });
});

describe('S11: session history under faults (docs/faults.md; many more: npm run faults)', () => {
  for (const fault of HISTORY_FAULTS) {
    it(`S11: ${fault.name}: ${fault.about}`, { timeout: 180_000 }, async () => {
      const options = { seed: SEED, from: 0, count: fault.tries.few, crowd: CROWD };
      const { failures, survived, lost } = await runCase(world, HISTORY_INSPECTION, fault, options);
      expect(failures).toEqual([]);
      expect({ survived, lost }).toEqual({ survived: fault.tries.few, lost: 0 });
    });
  }
});
