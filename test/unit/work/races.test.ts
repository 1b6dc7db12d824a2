/** Two at the same run, one stopped at the worst moment while the other does all of its work in a process of its own. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { acquireRun } from '../../../src/work/index.ts';
import { makeScene, NAME, runToEnd, type Scene, worker } from './scene.ts';

const REQUEST = { ...NAME, runId: 'r' };
const PRUNE = `await room.pruneTenant(args[0], ${JSON.stringify(NAME)}, room.retentionOf({ maxRuns: 0 }));`;
const ACQUIRE = `const run = await room.acquireRun(args[0], ${JSON.stringify(REQUEST)}); console.log(run.path);`;

/** Does something once, at the first moment of that name. */
function at(moment: string, act: () => void): (step: string) => void {
  let done = false;
  return (step) => {
    if (done || step !== moment) return;
    done = true;
    act();
  };
}

function markers(path: string): number {
  return readdirSync(join(path, '.leases')).length;
}

/** The acquired run is there, ours, held, and not removed by a prune. */
async function expectLive(scene: Scene, path: string): Promise<void> {
  expect(JSON.parse(readFileSync(join(path, '.pi-work-run.json'), 'utf8'))).toMatchObject(REQUEST);
  expect(markers(path)).toBe(1);
  await scene.prune({ maxRuns: 0 });
  expect(existsSync(path)).toBe(true);
  expect(scene.ours()).toEqual(['.pi-work-pruned']);
}

describe('an acquire', () => {
  it('W6: that has opened a run which is removed at that moment gets a new one of the name', async () => {
    const scene = makeScene();
    await scene.run('r', { files: 1 });
    const between = at('opened the run', () => void runToEnd(PRUNE, scene.root));
    const run = await acquireRun(scene.root, REQUEST, { between });
    expect(readdirSync(run.path)).not.toContain('f0');
    await expectLive(scene, run.path);
    await run.release();
  });

  it('W6: beside a prune that has the run already waits for its end, and gets a new one', async () => {
    const scene = makeScene();
    await scene.run('r');
    let acquiring: ReturnType<typeof acquireRun> | undefined;
    const between = at('took the gate', () => {
      acquiring = acquireRun(scene.root, REQUEST);
    });
    await scene.prune({ maxRuns: 0 }, { between });
    const run = await acquiring;
    expect(run).toBeDefined();
    await expectLive(scene, run?.path ?? '');
    await run?.release();
  });

  it('W4: whose beginnings a prune takes for a dead one’s begins again', async () => {
    const scene = makeScene();
    await scene.run('other');
    const between = at('made the building', () => void runToEnd(PRUNE, scene.root));
    const run = await acquireRun(scene.root, REQUEST, { between });
    await expectLive(scene, run.path);
    await run.release();
  });

  it('W4: whose name another takes while it builds joins that one', async () => {
    const scene = makeScene();
    await scene.run('other');
    const between = at('built', () => void runToEnd(ACQUIRE, scene.root));
    const run = await acquireRun(scene.root, REQUEST, { between });
    await expectLive(scene, run.path);
    await run.release();
  });

  it('W4: of a tenant that a prune removes as empty makes it again', async () => {
    const scene = makeScene();
    await scene.run('other');
    const between = at('built', () => void runToEnd(PRUNE, scene.root));
    const run = await acquireRun(scene.root, { ...NAME, tenant: 'next', runId: 'r' }, { between });
    expect(existsSync(run.path)).toBe(true);
    await run.release();
  });
});

describe('a prune', () => {
  it('W6: looks at the leases once more: a run that was taken after it was judged stays', async () => {
    const scene = makeScene();
    const [first, second] = [await scene.run('a', { days: 50 }), await scene.run('r', { days: 40 })];
    const holder = worker(
      `process.stdin.once('data', async () => { ${ACQUIRE} setInterval(() => {}, 1000); });`,
      scene.root,
    );
    const between = at('took the gate', () => {
      // While the first is removed, which both were judged for.
      holder.tell('now');
      const pause = new Int32Array(new SharedArrayBuffer(4));
      for (let tries = 0; tries < 500 && markers(second) === 0 && existsSync(first); tries++)
        Atomics.wait(pause, 0, 0, 20);
    });
    const report = await scene.prune({}, { between });
    expect(report.removed.items.map(({ runId }) => runId)).toEqual(['a']);
    expect(await holder.line()).toBe(second);
    expect(markers(second)).toBe(1);
    // Its marker stands a moment before it lets go of the gate.
    const [kept] = scene.log().filter(({ event }) => event === 'kept');
    expect(['changed', 'busy']).toContain(kept?.reason);
  });

  it('W6: keeps a run that was used and released again since it was judged', async () => {
    const scene = makeScene();
    await scene.run('a', { days: 50 });
    const second = await scene.run('r', { days: 40 });
    const between = at('took the gate', () => void runToEnd(`${ACQUIRE} await run.release();`, scene.root));
    await scene.prune({}, { between });
    expect(existsSync(second)).toBe(true);
    expect(markers(second)).toBe(0);
  });

  it('W6: of two at the same deletion one leaves it to the other', async () => {
    const scene = makeScene();
    await scene.run('r', { files: 5 });
    const code = `
      const between = (step) => { if (step === 'announced') { console.log('deleting'); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500); } };
      const run = await room.acquireRun(args[0], ${JSON.stringify(REQUEST)});
      await run.release();
      await room.pruneTenant(args[0], ${JSON.stringify(NAME)}, room.retentionOf({ maxRuns: 0 }), { between });
      console.log('done');`;
    const other = worker(code, scene.root);
    expect(await other.line()).toBe('deleting');
    const report = await scene.prune({ maxRuns: 0 });
    expect(await other.line()).toBe('done');
    expect(report.problems.items).toEqual([]);
    expect(existsSync(scene.tenant)).toBe(false);
  });
});
