/** Finding, listing and reattaching, by whoever has nothing of a run but its files (R2, R6, R8). */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  findRun,
  LIMITS,
  listRuns,
  openJournal,
  outputArtifact,
  readRun,
  reattachRun,
  writeState,
} from '../../../src/runs/index.ts';
import { DEPS, graphOf, OPERATOR, session, storeScene } from './store-scene.ts';

/** As another version writes it. */
function setSchema(directory: string, file: string, schemaVersion: number): void {
  const path = join(directory, file);
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), schemaVersion }));
}

describe('finding a run (R2)', () => {
  it('R2: any beginning that no other run has is enough', async () => {
    const { place, start } = storeScene();
    const one = await start({}, new Date('2026-01-31T09:00:00Z'));
    const two = await start({}, new Date('2026-02-01T09:00:00Z'));
    expect(await findRun(place, '20260131')).toBe(one.directory);
    expect(await findRun(place, two.manifest.runId)).toBe(two.directory);
    await expect(findRun(place, '2026')).rejects.toMatchObject({
      code: 'ambiguous',
      details: { runs: [two.manifest.runId, one.manifest.runId] },
    });
    await expect(findRun(place, '2027')).rejects.toMatchObject({ code: 'not-found' });
    await expect(findRun(place, '../x')).rejects.toThrow('is no id of a run');
  });

  it('R2: where runs of several projects begin so, the one of the caller’s own is meant', async () => {
    const { place, start, request, directory } = storeScene();
    const { project } = request();
    const mine = await start({ project }, new Date('2026-01-31T09:00:00Z'));
    await start({ project: { ...project, real: '/other' } }, new Date('2026-01-31T10:00:00Z'));
    expect(await findRun(place, '20260131', { project: directory })).toBe(mine.directory);
  });

  it('R2: an id that is only claimed is no run', async () => {
    const { place } = storeScene();
    mkdirSync(join(place.root, '20260131t090000-abcdef'), { recursive: true });
    await expect(findRun(place, '20260131t090000-abcdef')).rejects.toMatchObject({ code: 'not-found' });
    expect(await listRuns(place, { caller: OPERATOR })).toEqual({ runs: [], next: null });
  });
});

describe('listing runs (R8)', () => {
  it('R8: the newest first, a page at a time', async () => {
    const { place, start } = storeScene();
    for (const day of ['01', '03', '02']) await start({}, new Date(`2026-01-${day}T00:00:00Z`));
    const first = await listRuns(place, { caller: OPERATOR, limit: 2 });
    expect(first.runs.map(({ runId }) => runId.slice(0, 8))).toEqual(['20260103', '20260102']);
    const second = await listRuns(place, { caller: OPERATOR, limit: 2, cursor: first.next ?? undefined });
    expect(second.runs.map(({ runId }) => runId.slice(0, 8))).toEqual(['20260101']);
    expect(second.next).toBeNull();
  });

  it('R8: a page that holds the last run is followed by none', async () => {
    const { place, start } = storeScene();
    await start();
    expect(await listRuns(place, { caller: OPERATOR, limit: 1 })).toMatchObject({ next: null });
  });

  it('R8: has what the proposal names, and how many steps are done', async () => {
    const { place, orphan, directory } = storeScene();
    const graph = graphOf({
      objective: 'build',
      steps: [
        { id: 'a', prompt: 'x' },
        { id: 'b', prompt: 'y', needs: ['a'] },
      ],
    });
    const { directory: runDir, manifest, state } = await orphan({}, {}, graph);
    const [a] = Object.values(state.steps);
    if (a === undefined) throw new Error('no step');
    await writeState(runDir, { ...state, steps: { ...state.steps, a: { ...a, status: 'succeeded' } } });
    const { runs } = await listRuns(place, { caller: OPERATOR });
    expect(runs).toEqual([
      {
        runId: manifest.runId,
        ownerClass: 'orphan',
        status: 'running',
        objective: 'build',
        createdAt: manifest.createdAt,
        runDir,
        pendingWorktrees: 0,
        steps: 2,
        stepsDone: 1,
        project: directory,
        problem: null,
      },
    ]);
  });

  it('R8: where the list of its worktrees cannot be read, each step may still have one', async () => {
    const { place, orphan } = storeScene();
    const graph = graphOf({
      objective: 'build',
      steps: [
        { id: 'a', prompt: 'x', worktree: true },
        { id: 'b', prompt: 'y' },
      ],
    });
    const { directory } = await orphan({}, {}, graph);
    const row = async () => (await listRuns(place, { caller: OPERATOR })).runs[0];
    expect(await row()).toMatchObject({ pendingWorktrees: 0, problem: null });
    writeFileSync(join(directory, 'worktrees.json'), '{');
    const problem = 'worktrees.json is not JSON';
    expect(await row()).toMatchObject({ status: 'running', pendingWorktrees: 1, problem });
    rmSync(join(directory, 'worktrees.json'));
    expect(await row()).toMatchObject({ pendingWorktrees: 1, problem: 'there is no worktrees.json' });
  });

  it('R6: says of each whose it is', async () => {
    const { place, start, ended, orphan } = storeScene();
    await start({ session: 'me' });
    await start({ session: 'you' });
    await ended({ ownerSessionId: 'me' });
    await orphan({ ownerSessionId: 'me' });
    const { runs } = await listRuns(place, { caller: session('me') });
    expect(runs.map(({ ownerClass }) => ownerClass).sort()).toEqual([
      'foreign-session',
      'orphan',
      'this-session',
      'this-session',
    ]);
  });

  it('R8: keys are not shown, and long objectives of others are cut', async () => {
    const { place, start } = storeScene();
    const objective = `use sk-${'a'.repeat(40)} and ${'x'.repeat(1_000)}`;
    const graph = graphOf({ objective, steps: [{ id: 'one', prompt: 'do it' }] });
    await start({ graph, session: 'you' }, new Date('2026-01-02T00:00:00Z'));
    await start({ graph, session: 'me' }, new Date('2026-01-01T00:00:00Z'));
    const { runs } = await listRuns(place, { caller: session('me') });
    const [foreign, own] = runs.map((row) => row.objective ?? '');
    expect(foreign).toMatch(/^use \[redacted\] and x+…$/);
    expect(foreign).toHaveLength(LIMITS.foreignObjectiveCharacters);
    expect(own).toBe(`use [redacted] and ${'x'.repeat(1_000)}`);
  });

  it('R8: one project’s, or all; one status, or all', async () => {
    const { place, start, ended, request, directory } = storeScene();
    await start({ project: { ...request().project, real: '/other' } });
    const { manifest } = await ended({}, { status: 'failed' });
    const rows = async (query: object): Promise<string[]> =>
      (await listRuns(place, { caller: OPERATOR, ...query })).runs.map(({ runId }) => runId);
    expect(await rows({ project: directory })).toEqual([manifest.runId]);
    expect(await rows({ status: ['failed'] })).toEqual([manifest.runId]);
    expect(await rows({ status: ['running', 'canceled'] })).toEqual([]);
    expect(await rows({})).toHaveLength(2);
  });

  it('R8: what cannot be read is a row that says so', async () => {
    const { place, ended, directory } = storeScene();
    const damaged = await ended();
    const newer = await ended();
    const older = await ended();
    const bare = await ended();
    writeFileSync(join(damaged.directory, 'manifest.json'), '{');
    setSchema(newer.directory, 'manifest.json', 9);
    setSchema(older.directory, 'status.json', 0);
    rmSync(join(bare.directory, 'manifest.json'));
    const { runs } = await listRuns(place, { caller: OPERATOR, project: directory });
    const found = new Map(runs.map((row) => [row.runDir, row]));
    expect(found.get(damaged.directory)).toMatchObject({
      status: 'damaged',
      problem: 'manifest.json is not JSON',
      ownerClass: 'unknown',
    });
    expect(found.get(newer.directory)).toMatchObject({
      status: 'schema-version-too-new',
      problem: 'its files have schema 9',
    });
    expect(found.get(older.directory)).toMatchObject({ status: 'schema-version-too-old' });
    expect(found.get(bare.directory)).toMatchObject({ problem: 'there is no manifest.json' });
  });
});

describe('reattaching to a run (R8)', () => {
  it('R8: gives all that is kept of it, and changes nothing', async () => {
    const { orphan } = storeScene();
    const { directory, manifest, state } = await orphan();
    const [{ id } = { id: undefined }] = manifest.graph.steps;
    if (id === undefined) throw new Error('no step');
    writeFileSync(outputArtifact(directory, id), 'result');
    const journal = await openJournal(directory, DEPS.clock);
    expect(await reattachRun(directory)).toMatchObject({
      manifest,
      status: state,
      worktrees: [],
      mirroredArtifacts: [join(directory, 'artifacts/one.output.md')],
    });
    expect((await openJournal(directory, DEPS.clock)).seq).toBe(journal.seq);
  });

  it.each([
    ['schema-version-too-old', 0],
    ['schema-version-too-new', 7],
  ])('R8: %s says which version was found', async (code, schemaVersion) => {
    const { ended } = storeScene();
    const { directory } = await ended();
    setSchema(directory, 'manifest.json', schemaVersion);
    await expect(reattachRun(directory)).rejects.toMatchObject({ code, details: { schemaVersion } });
    expect(JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8'))).toMatchObject({
      schemaVersion,
    });
  });

  it('R6: nobody can tell whose a run is whose lock cannot be asked', async () => {
    const { orphan, place } = storeScene();
    const { directory } = await orphan();
    rmSync(join(directory, 'lock'));
    mkdirSync(join(directory, 'lock'));
    expect(await readRun(directory)).toMatchObject({ held: undefined });
    const { runs } = await listRuns(place, { caller: OPERATOR });
    expect(runs).toMatchObject([{ ownerClass: 'unknown' }]);
  });
});
