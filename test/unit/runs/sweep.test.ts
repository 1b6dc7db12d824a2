/** The sweep: what goes, what stays and why (R9). */
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tryLock } from '../../../src/lib/kernel-lock.ts';
import {
  readEvents,
  readKnownRun,
  runDeletionLog,
  type SweepReport,
  sweepLine,
  sweepLock,
  sweepRuns,
  takeOwnership,
  writeWorktrees,
} from '../../../src/runs/index.ts';
import { clockAt, DEPS, graphOf, OPERATOR, type StoreScene, storeScene } from './store-scene.ts';

const LONG_AGO = '2026-01-01T00:00:00.000Z';
const NOW = '2026-01-02T00:00:00.000Z';
const OLD = new Date(LONG_AGO);

function sweep({ place }: StoreScene, now = NOW, dryRun = false): Promise<SweepReport> {
  return sweepRuns(place, { ...DEPS, clock: clockAt(now) }, { dryRun });
}

function deletions({ place }: StoreScene): object[] {
  return readFileSync(runDeletionLog(place), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

describe('the sweep (R9)', () => {
  it('R9: what ended longer ago than it is kept goes, logged before and after', async () => {
    const scene = storeScene();
    const { directory } = await scene.ended({ terminalRetentionSeconds: 3_600 }, { terminalAt: LONG_AGO });
    const report = await sweep(scene);
    expect(sweepLine(report)).toBe('scanned 1, expired 0, deleted 1, kept 0');
    expect(existsSync(directory)).toBe(false);
    expect(deletions(scene)).toMatchObject([
      { event: 'removing', run: directory, why: 'retention', status: 'succeeded', project: scene.directory },
      { event: 'removed', run: directory, bytes: expect.any(Number), entries: expect.any(Number) },
    ]);
    expect(readdirSync(scene.place.root).filter((name) => !name.startsWith('.'))).toEqual([]);
  });

  it('R9: what ended not so long ago stays, to the second', async () => {
    const scene = storeScene();
    await scene.ended({ terminalRetentionSeconds: 86_400 }, { terminalAt: LONG_AGO });
    expect((await sweep(scene, '2026-01-01T23:59:59.999Z')).kept).toEqual({ retention: 1 });
    expect((await sweep(scene)).deleted).toBe(1);
  });

  it('R9: an orphan that nobody has cared for in a day has expired, and goes when its time is over', async () => {
    const scene = storeScene();
    const times = { updatedAt: LONG_AGO };
    const { directory } = await scene.orphan(
      { ownerStartedAt: LONG_AGO, terminalRetentionSeconds: 60 },
      times,
    );
    expect((await sweep(scene, '2026-01-01T23:59:59.000Z')).kept).toEqual({ orphan: 1 });
    expect(await sweep(scene)).toMatchObject({ expired: 1, deleted: 0 });
    const { state } = await readKnownRun(directory);
    expect(state).toMatchObject({ status: 'expired', terminal: true, terminalAt: NOW });
    const events = [];
    for await (const line of readEvents(directory, 1)) events.push(line);
    expect(events).toMatchObject([{ event: { type: 'run', status: 'expired' } }]);
    expect(await sweep(scene, '2026-01-02T00:01:00.000Z')).toMatchObject({ expired: 0, deleted: 1 });
  });

  it('R9: an orphan that was taken over is not given up for another day', async () => {
    const scene = storeScene();
    const { directory } = await scene.orphan({ ownerStartedAt: LONG_AGO }, { updatedAt: LONG_AGO });
    const deps = { ...DEPS, clock: clockAt('2026-01-01T12:00:00.000Z') };
    (await takeOwnership(scene.place, directory, OPERATOR, deps)).lock.release();
    expect((await sweep(scene)).kept).toEqual({ orphan: 1 });
    expect((await sweep(scene, '2026-01-02T12:00:00.000Z')).expired).toBe(1);
  });

  it('R9: what has an owner stays, however old', async () => {
    const scene = storeScene();
    await scene.start({}, OLD);
    expect(await sweep(scene, '2027-01-01T00:00:00.000Z')).toMatchObject({ kept: { live: 1 }, expired: 0 });
  });

  it('R9: an orphan is not given up while a job of it goes on', async () => {
    const scene = storeScene();
    const job = join(scene.directory, 'job');
    mkdirSync(job);
    const lock = tryLock(join(job, 'lock'));
    onTestFinished(() => lock?.release());
    const { state } = await scene.start();
    const [step] = Object.values(state.steps);
    if (step === undefined) throw new Error('no step');
    const steps = { one: { ...step, status: 'running' as const, job } };
    await scene.orphan({ ownerStartedAt: LONG_AGO }, { updatedAt: LONG_AGO, steps });
    expect((await sweep(scene)).kept).toEqual({ live: 1, 'steps-run': 1 });
    lock?.release();
    expect((await sweep(scene)).expired).toBe(1);
  });

  it('R9: a worktree that is not cleaned up keeps its run, which is named', async () => {
    const scene = storeScene();
    const graph = graphOf({ objective: 'x', steps: [{ id: 'one', prompt: 'y', worktree: true }] });
    const { directory, manifest } = await scene.ended({}, { terminalAt: LONG_AGO }, graph);
    const record = {
      stepId: 'one',
      worktreePath: join(directory, 'worktrees/one'),
      branchName: 'pi/x/one',
      baseCommit: '0'.repeat(40),
      repoRoot: '/gone',
      made: true,
      cleanedUp: false,
    };
    await writeWorktrees(directory, [record]);
    const report = await sweep(scene);
    expect(report).toMatchObject({ kept: { worktrees: 1 }, withWorktrees: { items: [manifest.runId] } });
    await writeWorktrees(directory, [{ ...record, cleanedUp: true }]);
    expect((await sweep(scene)).deleted).toBe(1);
  });

  it('R9: what is damaged, or another version’s, stays', async () => {
    const scene = storeScene();
    const [damaged, newer] = [await scene.ended(), await scene.ended()];
    writeFileSync(join(damaged.directory, 'manifest.json'), '{}');
    writeFileSync(join(newer.directory, 'status.json'), '{"schemaVersion":2}');
    const report = await sweep(scene, '2036-01-01T00:00:00.000Z');
    expect(sweepLine(report)).toBe('scanned 2, expired 0, deleted 0, kept 2 (damaged 1, other-schema 1)');
  });

  it('R9: a dry run says the same and changes nothing', async () => {
    const scene = storeScene();
    const old = await scene.ended({}, { terminalAt: LONG_AGO });
    const orphan = await scene.orphan({ ownerStartedAt: LONG_AGO }, { updatedAt: LONG_AGO });
    expect(await sweep(scene, NOW, true)).toMatchObject({ scanned: 2, expired: 1, deleted: 1 });
    expect(existsSync(old.directory)).toBe(true);
    expect((await readKnownRun(orphan.directory)).state.status).toBe('running');
  });

  it('R9: one sweeper at a time', async () => {
    const scene = storeScene();
    await scene.ended();
    const lock = tryLock(sweepLock(scene.place));
    onTestFinished(() => lock?.release());
    await expect(sweep(scene)).rejects.toThrow('runs are being swept by another process');
  });

  it('R9: clears what killed starts and removals have left, and nothing that is being made', async () => {
    const scene = storeScene();
    await scene.ended();
    const { root } = scene.place;
    const at = (name: string): string => join(root, name);
    for (const name of ['.new-old', '.new-now', '.gone-x', '20251231t000000-aaaaaa']) mkdirSync(at(name));
    writeFileSync(join(at('.new-old'), 'manifest.json'), '{}');
    writeFileSync(join(at('.gone-x'), 'status.json'), '{}');
    for (const name of ['.new-old', '20251231t000000-aaaaaa']) utimesSync(at(name), OLD, OLD);
    const held = tryLock(join(at('.new-old'), 'lock'));
    utimesSync(at('.new-old'), OLD, OLD);
    const soon = new Date().toISOString();
    expect((await sweep(scene, soon)).leftovers).toBe(2);
    expect(['.new-old', '.new-now', '.gone-x'].map((name) => existsSync(at(name)))).toEqual([
      true,
      true,
      false,
    ]);
    held?.release();
    expect((await sweep(scene, soon)).leftovers).toBe(1);
    expect(existsSync(at('.new-old'))).toBe(false);
  });

  it('R9: where there never was a run there is nothing to sweep', async () => {
    const scene = storeScene();
    expect(sweepLine(await sweep(scene))).toBe('scanned 0, expired 0, deleted 0, kept 0');
    expect(existsSync(scene.place.root)).toBe(false);
  });
});
