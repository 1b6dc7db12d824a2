import { appendFileSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RUN_FAULTS } from '../../faults/cases/runs.ts';
import { runCase } from '../../faults/run-case.ts';
import { findingsAtEnd, jobOf, timesDone } from '../../faults/runs/checker.ts';
import { makeRunScene, type RunScene } from '../../faults/runs/scene.ts';
import { type Findings, openRunsWorld, RUN_INSPECTION, type RunsWorld } from '../../faults/runs/world.ts';

/** Fixed, so that a failure here is the same one everywhere; `npm run faults` takes others. */
const SEED = 'ci';

let world: RunsWorld;
beforeAll(() => {
  world = openRunsWorld();
});
afterAll(() => world.close());

describe('R11: the checker of runs', () => {
  type Scene = { readonly scene: RunScene; readonly run: string };
  const status = (run: string): string => join(run, 'status.json');
  const deeds: [Exclude<keyof Findings, 'processes'>, string, (of: Scene) => void][] = [
    ['untrue', 'a result', ({ run }) => writeFileSync(join(run, 'artifacts/plan.output.md'), 'another')],
    [
      'untrue',
      'a job that is not done',
      ({ scene, run }) => rmSync(join(jobOf(scene, run, 'plan'), 'exit_code')),
    ],
    [
      'untrue',
      'an end that is not told',
      ({ run }) => {
        const events = join(run, 'events.jsonl');
        const lines = readFileSync(events, 'utf8').trim().split('\n');
        writeFileSync(events, `${lines.slice(0, -3).join('\n')}\n`);
      },
    ],
    [
      'untrue',
      'a step that has failed',
      ({ run }) =>
        writeFileSync(status(run), readFileSync(status(run), 'utf8').replace('"succeeded"', '"failed"')),
    ],
    ['done twice', 'a step', ({ scene, run }) => appendFileSync(scene.done, `plan-${basename(run)}\n`)],
    ['lost', 'a worktree', ({ run }) => rmSync(join(run, 'worktrees/scan'), { recursive: true })],
    ['lost', 'a diff', ({ run }) => rmSync(join(run, 'artifacts/docs.diff'))],
    ['left over', 'half a file', ({ run }) => writeFileSync(join(run, '.pi-sandbox-tmp-1'), '')],
  ];
  it('R11: sees what is wrong of each kind', async () => {
    const whole = makeRunScene(world);
    const run = await whole.start();
    await whole.ownerless(run);
    expect(findingsAt(whole, run)).toEqual({ lost: [], untrue: [], 'done twice': [], 'left over': [] });
    for (const [kind, what, deed] of deeds) {
      const kept = join(whole.top, 'kept');
      cpSync(run, kept, { recursive: true, verbatimSymlinks: true });
      const done = readFileSync(whole.done, 'utf8');
      const exit = join(jobOf(whole, run, 'plan'), 'exit_code');
      deed({ scene: whole, run });
      expect([what, findingsAt(whole, run)[kind]]).not.toEqual([what, []]);
      rmSync(run, { recursive: true });
      cpSync(kept, run, { recursive: true, verbatimSymlinks: true });
      rmSync(kept, { recursive: true });
      writeFileSync(whole.done, done);
      writeFileSync(exit, '0\n');
    }
  });

  function findingsAt(scene: RunScene, run: string): Omit<Findings, 'processes'> {
    const { processes: _, ...findings } = findingsAtEnd(scene, run);
    const often = [...timesDone(scene, run)].filter(([, count]) => count !== 1).map(([id]) => id);
    return { ...findings, 'done twice': often };
  }
});

describe('R11: runs under faults (docs/faults.md; many more: npm run faults)', () => {
  for (const fault of RUN_FAULTS) {
    it(`R11: ${fault.name}: ${fault.about}`, { timeout: 240_000 }, async () => {
      const options = { seed: SEED, from: 0, count: fault.tries.few, crowd: 5 };
      const { failures, survived } = await runCase(world, RUN_INSPECTION, fault, options);
      expect(failures).toEqual([]);
      expect(survived).toBe(fault.tries.few);
    });
  }
});
