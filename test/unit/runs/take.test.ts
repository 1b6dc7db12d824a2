/** Taking runs whose owner is gone (R6, R7). */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { isHeld } from '../../../src/lib/kernel-lock.ts';
import { readEvents, readKnownRun, runLock, takeOwnership } from '../../../src/runs/index.ts';
import { builtProgram } from '../../setup/built-program.ts';
import { DEPS, OPERATOR, session, storeScene } from './store-scene.ts';

const CROWD = 20;

async function taker(program: string, directory: string, name: string): Promise<string> {
  const child = spawn(process.execPath, [program, directory, name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return text(child.stdout);
}

describe('taking a run over (R6)', () => {
  it('R6: an orphan is its taker’s, and its events say so', async () => {
    const { place, orphan } = storeScene();
    const { directory } = await orphan({ ownerSessionId: 'you' });
    const held = await takeOwnership(place, directory, session('me'), DEPS);
    expect(isHeld(runLock(directory))).toBe(true);
    held.lock.release();
    const { manifest } = await readKnownRun(directory);
    expect(manifest).toMatchObject({
      ownerSessionId: 'me',
      ownerPid: 42,
      ownerContainer: 'here',
      adopted: true,
    });
    const events = [];
    for await (const line of readEvents(directory, 1)) events.push(line);
    expect(events).toMatchObject([{ event: { type: 'owner', session: 'me', before: 'you', seq: 2 } }]);
  });

  it('R6: nothing is taken from an owner that lives', async () => {
    const { place, start } = storeScene();
    const { directory, manifest } = await start({ session: 'you' });
    await expect(takeOwnership(place, directory, OPERATOR, { ...DEPS, force: true })).rejects.toMatchObject({
      code: 'run-is-live',
      message: expect.stringContaining('process 42 on here'),
    });
    expect((await readKnownRun(directory)).manifest).toEqual(manifest);
  });

  it('R6: a run that has ended needs no owner', async () => {
    const { place, ended } = storeScene();
    const { directory } = await ended();
    await expect(takeOwnership(place, directory, OPERATOR, DEPS)).rejects.toMatchObject({
      code: 'run-is-final',
    });
  });

  it('R7: nobody goes on with a run where its directory is not: all its steps would fail', async () => {
    const { place, orphan } = storeScene();
    const { directory, manifest } = await orphan({ invocationCwd: '/of/another/sandbox' });
    await expect(takeOwnership(place, directory, OPERATOR, { ...DEPS, goOn: true })).rejects.toThrow(
      '/of/another/sandbox',
    );
    expect(isHeld(runLock(directory))).toBe(false);
    expect((await readKnownRun(directory)).manifest).toEqual(manifest);
  });

  it('R6: what somebody else has taken is theirs, but for --force', async () => {
    const { place, orphan } = storeScene();
    const { directory } = await orphan();
    (await takeOwnership(place, directory, session('one'), DEPS)).lock.release();
    await expect(takeOwnership(place, directory, session('two'), DEPS)).rejects.toMatchObject({
      code: 'owned-by-other',
      details: { ownerSessionId: 'one' },
    });
    (await takeOwnership(place, directory, session('one'), DEPS)).lock.release();
    (await takeOwnership(place, directory, session('two'), { ...DEPS, force: true })).lock.release();
    expect((await readKnownRun(directory)).manifest.ownerSessionId).toBe('two');
  });

  it('R7: how died steps are treated can be decided anew', async () => {
    const { place, orphan } = storeScene();
    const { directory } = await orphan();
    const held = await takeOwnership(place, directory, OPERATOR, { ...DEPS, retry: 'none' });
    held.lock.release();
    expect(held.manifest.retry).toBe('none');
    expect((await readKnownRun(directory)).manifest.retry).toBe('none');
  });

  it(`R6: of ${CROWD} that take one run at once, one gets it`, { timeout: 60_000 }, async () => {
    const { orphan } = storeScene();
    const { directory } = await orphan();
    const names = Array.from({ length: CROWD }, (_, number) => `session-${number}`);
    const program = builtProgram('test/unit/runs/taker.ts');
    const said = await Promise.all(names.map((name) => taker(program, directory, name)));
    const winners = names.filter((_, index) => said[index] === 'taken');
    expect(winners).toHaveLength(1);
    for (const word of said) expect(['taken', 'owned-by-other', 'run-is-live']).toContain(word);
    expect((await readKnownRun(directory)).manifest.ownerSessionId).toBe(winners[0]);
  });
});
