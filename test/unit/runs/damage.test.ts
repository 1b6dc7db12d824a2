/** What an agent, which is the same user, may have done to the directory of a run (rules 3 and 8). */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  advanceRun,
  cleanupRun,
  findRun,
  type HeldRun,
  LIMITS,
  listRuns,
  newRunState,
  type OwnerDeps,
  readRun,
  readState,
  sendToStep,
  stepIn,
  sweepRuns,
  writeState,
} from '../../../src/runs/index.ts';
import { clockAt, DEPS, graphOf, OPERATOR, type StoreScene, storeScene } from './store-scene.ts';

const LONG_AGO = '2026-01-01T00:00:00.000Z';

function cleanup({ place }: StoreScene, { directory }: HeldRun, force = false): Promise<unknown> {
  const owner: OwnerDeps = { ...DEPS, env: {}, runner: { command: '', args: [] }, shippedProfiles: '' };
  return cleanupRun(place, directory, { caller: OPERATOR, force, worktreesOnly: false }, owner);
}

/** A worktree that somebody has worked in, as it is without its record. */
function workIn({ directory }: HeldRun): string {
  const work = join(directory, 'worktrees', 'one', 'work.txt');
  mkdirSync(join(work, '..'), { recursive: true });
  writeFileSync(work, 'a day of it');
  return work;
}

function changeState({ directory }: HeldRun, change: object): void {
  const path = join(directory, 'status.json');
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...change }));
}

describe('worktrees that the list of a run does not name', () => {
  it('R5: are not removed without --force', async () => {
    const scene = storeScene();
    const run = await scene.ended();
    const work = workIn(run);
    await expect(cleanup(scene, run)).rejects.toMatchObject({
      code: 'worktree-dirty',
      message: expect.stringContaining('one'),
    });
    expect(existsSync(work)).toBe(true);
    await cleanup(scene, run, true);
    expect(existsSync(run.directory)).toBe(false);
  });

  it('R5: nor where there is no list at all', async () => {
    const scene = storeScene();
    const run = await scene.ended();
    const work = workIn(run);
    rmSync(join(run.directory, 'worktrees.json'));
    await expect(cleanup(scene, run)).rejects.toMatchObject({ code: 'worktree-dirty' });
    expect(existsSync(work)).toBe(true);
  });

  it('R9: keep a run whose time is over', async () => {
    const scene = storeScene();
    const run = await scene.ended({ terminalRetentionSeconds: 1 }, { terminalAt: LONG_AGO });
    const work = workIn(run);
    const report = await sweepRuns(scene.place, { ...DEPS, clock: clockAt('2026-02-01T00:00:00.000Z') });
    expect(report).toMatchObject({ deleted: 0, kept: { worktrees: 1 } });
    expect(existsSync(work)).toBe(true);
  });
});

describe('a status.json that cannot be', () => {
  const impossible: [string, object][] = [
    ['without the steps of its graph', { steps: {} }],
    ['final and not ended', { status: 'succeeded', terminal: false }],
    ['ended and running', { status: 'running', terminal: true }],
  ];
  it.each(impossible)('R8: %s is damage, and no end of a run', async (_, change) => {
    const { place, orphan } = storeScene();
    const run = await orphan();
    changeState(run, change);
    expect((await readRun(run.directory)).kind).toBe('damaged');
    const { runs } = await listRuns(place, { caller: OPERATOR });
    expect(runs).toMatchObject([{ status: 'damaged', ownerClass: 'unknown' }]);
  });
});

describe('a link in place of a run', () => {
  it('rule 3: is no run, and nothing is written behind it', async () => {
    const scene = storeScene();
    const run = await scene.ended();
    const elsewhere = join(scene.directory, 'elsewhere');
    renameSync(run.directory, elsewhere);
    rmSync(join(elsewhere, 'lock'));
    symlinkSync(elsewhere, run.directory);
    await expect(findRun(scene.place, run.manifest.runId)).rejects.toMatchObject({ code: 'not-found' });
    await expect(cleanup(scene, run, true)).rejects.toMatchObject({ code: 'not-found' });
    expect(existsSync(join(elsewhere, 'lock'))).toBe(false);
  });
});

describe('a lock that was replaced', () => {
  it('R6: ends its holder before it writes again, for another may own the run', async () => {
    const run = await storeScene().start();
    rmSync(run.lock.path);
    writeFileSync(run.lock.path, '');
    const message = { step: 'one', text: 'hello', from: 'me' };
    await expect(sendToStep(run, message, DEPS)).rejects.toThrow('its lock was replaced');
    expect(await readState(run.directory)).toMatchObject({ value: { steps: { one: { messages: 0 } } } });
  });
});

describe('reasons that have no end', () => {
  it('R1: leave a state that can be read', async () => {
    const { directory, state } = await storeScene().start();
    const ids = Array.from({ length: LIMITS.mostSteps }, (_, index) => `step-${index}`);
    const graph = graphOf({ objective: 'x', steps: ids.map((id) => ({ id, prompt: 'p' })) });
    const full = newRunState(state.runId, graph, new Date());
    // As a caller or an agent's failure may have it: each character takes six in JSON.
    const reason = '\u0001'.repeat(64 * 1_024);
    await writeState(directory, advanceRun(full, graph, { type: 'cancel', reason }, new Date()));
    expect((await readState(directory)).kind).toBe('known');
  });
});

describe('a step that is called as what every object has', () => {
  it('R3: is there where the graph has it, and only there', async () => {
    const { state } = await storeScene().start();
    expect(stepIn(state, 'constructor')).toBeUndefined();
    const graph = graphOf({ objective: 'x', steps: [{ id: 'constructor', prompt: 'p' }] });
    const other = newRunState(state.runId, graph, new Date());
    expect(stepIn(other, 'constructor')).toMatchObject({ status: 'pending' });
    const canceled = advanceRun(other, graph, { type: 'cancel', reason: 'x' }, new Date());
    expect(canceled).toMatchObject({ status: 'canceled', steps: { constructor: { status: 'canceled' } } });
  });
});
