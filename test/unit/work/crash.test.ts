import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { acquireRun, retentionOf } from '../../../src/work/index.ts';
import { makeScene, NAME, runToEnd, type Scene } from './scene.ts';

const BREAK = new URL('../../faults/history/broken-fs.ts', import.meta.url).href;
const REQUEST = { ...NAME, runId: 'r' };
/** Each step is a process of its own; `npm run faults` tries the others. An acquire is tried at each. */
const STRIDE = 3;
const RETENTION = retentionOf({ maxAgeDays: 30 });

/** Runs code of which the `step`th change to the file system fails or kills; false when it has fewer. */
function broken(scene: Scene, step: number, fault: string, code: string): boolean {
  const { signal, stdout } = runToEnd(
    `const { breakFileSystem, callsSoFar } = await import(${JSON.stringify(BREAK)});
     const [root] = args;
     await room.acquireRun(root, ${JSON.stringify({ ...NAME, tenant: 'warm', runId: 'w' })});
     const clock = { now: () => new Date('2026-12-01T12:00:00.000Z'), monotonic: () => performance.now(), sleep: async () => {} };
     await breakFileSystem(${JSON.stringify({ at: step, of: 'changes', fault })});
     try { ${code} } catch (error) { if (!(error instanceof Error) || !('exitCode' in error)) throw error; }
     console.log(callsSoFar());`,
    scene.root,
  );
  return signal === 'SIGKILL' || Number(stdout.trim()) >= step;
}

/** Every directory in the tenant is a whole run, or has a name of the room's own. */
function unownedIn(scene: Scene): string[] {
  return scene.runs().filter((name) => {
    const manifest = join(scene.tenant, name, '.pi-work-run.json');
    return !existsSync(manifest) || JSON.parse(readFileSync(manifest, 'utf8')).runId !== name;
  });
}

describe('at a change to the file system', () => {
  it.each(['kill', 'ENOSPC'])(
    'W4: %s: an acquire leaves no unowned directory, and the next works',
    async (fault) => {
      let steps = 0;
      for (let step = 1, hit = true; hit; step++) {
        const scene = makeScene();
        mkdirSync(scene.tenant, { recursive: true });
        hit = broken(
          scene,
          step,
          fault,
          `const run = await room.acquireRun(root, ${JSON.stringify(REQUEST)}, { clock }); await run.release();`,
        );
        expect(unownedIn(scene), `step ${step}`).toEqual([]);
        const run = await acquireRun(scene.root, REQUEST);
        await run.release();
        const { problems } = await scene.prune({ maxRuns: 0 });
        expect(problems.items, `step ${step}`).toEqual([]);
        expect(existsSync(scene.tenant), `step ${step}`).toBe(false);
        steps = step;
      }
      expect(steps).toBeGreaterThan(12);
    },
    120_000,
  );

  it.each(['kill', 'EIO'])(
    'W6: %s: a prune keeps what is fresh, logs what goes, and the next one finishes',
    async (fault) => {
      let steps = 0;
      for (let step = 1, hit = true; hit; step += STRIDE) {
        const scene = makeScene();
        for (const old of ['old-1', 'old-2']) await scene.run(old, { days: 40, files: 2 });
        await scene.run('fresh', { files: 2 });
        hit = broken(
          scene,
          step,
          fault,
          `await room.pruneTenant(root, ${JSON.stringify(NAME)}, ${JSON.stringify(RETENTION)}, { clock });`,
        );
        expect(unownedIn(scene), `step ${step}`).toEqual([]);
        expect(readdirSync(join(scene.tenant, 'fresh')), `step ${step}`).toHaveLength(4);
        const gone = ['old-1', 'old-2'].filter((run) => !scene.runs().includes(run));
        const { problems } = await scene.prune();
        expect(problems.items, `step ${step}`).toEqual([]);
        expect(scene.runs(), `step ${step}`).toEqual(['fresh']);
        expect(scene.ours(), `step ${step}`).toEqual(['.pi-work-pruned']);
        const announced = scene
          .log()
          .flatMap(({ event, run }) => (event === 'removing' || event === 'resuming' ? [run] : []));
        for (const run of gone)
          expect(announced, `step ${step}`).toContain(`${NAME.category}/${NAME.tenant}/${run}`);
        steps = step;
      }
      expect(steps).toBeGreaterThan(20);
    },
    180_000,
  );

  it('W7: kill: a release with delete leaves a run of ours, or nothing after the next prune', async () => {
    let steps = 0;
    for (let step = 1, hit = true; hit; step += STRIDE) {
      const scene = makeScene();
      await scene.run('r', { files: 2 });
      hit = broken(
        scene,
        step,
        'kill',
        `await (await room.acquireRun(root, ${JSON.stringify(REQUEST)}, { clock })).release({ delete: true });`,
      );
      expect(unownedIn(scene), `step ${step}`).toEqual([]);
      const { problems } = await scene.prune({ maxRuns: 0 });
      expect(problems.items, `step ${step}`).toEqual([]);
      expect(existsSync(scene.tenant), `step ${step}`).toBe(false);
      steps = step;
    }
    expect(steps).toBeGreaterThan(15);
  }, 120_000);
});
