import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  claimStorage,
  InvalidWorkNameError,
  NamespaceTakenError,
  pruneTenant,
  RetentionError,
  retentionOf,
  type StorageOwner,
  StorageReleasedError,
  workSegment,
} from '../../../src/work/index.ts';
import { makeScene, runToEnd, worker } from './scene.ts';

/** As pi's object: it can be told that its extension is unloaded. */
function extension(): StorageOwner & { unload(): void } {
  const handlers: (() => undefined)[] = [];
  return {
    on: (_event, handler) => handlers.push(handler),
    unload: () => handlers.forEach((handler) => void handler()),
  };
}

function scene() {
  const { root } = makeScene();
  const claim = (namespace: string, owner?: StorageOwner) =>
    claimStorage(
      namespace,
      (name) => ({
        root,
        stateDir: join(root, '../state/extensions', name),
        cacheDir: join(root, '../cache/extensions', name),
      }),
      owner,
    );
  const held = (path: string) =>
    readdirSync(join(path, '.leases')).filter((name) => name.endsWith('.lease')).length;
  const prune = (namespace: string) =>
    pruneTenant(
      root,
      { category: workSegment('c', 'extensions'), tenant: workSegment('t', namespace) },
      retentionOf({ maxRuns: 0 }),
    );
  return { root, claim, held, prune };
}

describe('the storage of an extension', () => {
  it('W3: has its own places, and makes none of them', () => {
    const { root, claim } = scene();
    const storage = claim('mine', extension());
    expect(storage).toMatchObject({
      stateDir: expect.stringMatching(/\/state\/extensions\/mine$/),
      cacheDir: expect.stringMatching(/\/cache\/extensions\/mine$/),
    });
    for (const path of [root, storage.stateDir, storage.cacheDir]) expect(existsSync(path), path).toBe(false);
  });

  it('W3: leases runs in a tenant of its own', async () => {
    const { root, claim, held } = scene();
    const storage = claim('mine', extension());
    const [own, named] = [await storage.acquireWorkRun(), await storage.acquireWorkRun({ runId: 'cache' })];
    expect(own.path).toBe(join(root, 'extensions/mine', own.runId));
    expect(named.path).toBe(join(root, 'extensions/mine/cache'));
    await named.release();
    expect([held(own.path), held(named.path)]).toEqual([1, 0]);
    await storage.release();
    expect(held(own.path)).toBe(0);
  });

  it('W3: a namespace is one extension’s, until it is unloaded or releases it', async () => {
    const { claim } = scene();
    const [one, other] = [extension(), extension()];
    const storage = claim('mine', one);
    expect(claim('mine', one)).toBe(storage);
    for (const owner of [other, undefined]) expect(() => claim('mine', owner)).toThrow(NamespaceTakenError);
    expect(claim('another', other)).not.toBe(storage);
    one.unload();
    const next = claim('mine', other);
    // The first one's end is past: it takes nothing from its successor.
    await storage.release();
    one.unload();
    expect(() => claim('mine')).toThrow(NamespaceTakenError);
    await next.release();
    await claim('mine').release();
    other.unload();
  });

  it('W3: unloading ends its leases, and it is of no use after that', async () => {
    const { claim, held, prune } = scene();
    const owner = extension();
    const storage = claim('mine', owner);
    const run = await storage.acquireWorkRun();
    owner.unload();
    expect(held(run.path)).toBe(0);
    await expect(storage.acquireWorkRun()).rejects.toThrow(StorageReleasedError);
    await prune('mine');
    expect(existsSync(run.path)).toBe(false);
  });

  it('W3: a run that is being acquired while it is unloaded is not kept', async () => {
    const { root, claim } = scene();
    const owner = extension();
    const acquiring = claim('mine', owner).acquireWorkRun({ runId: 'r' });
    owner.unload();
    await expect(acquiring).rejects.toThrow(StorageReleasedError);
    expect(readdirSync(join(root, 'extensions/mine/r/.leases'))).toEqual([]);
  });

  it('W3: a one-shot run can still be removed after the end of its storage', async () => {
    const { claim } = scene();
    const owner = extension();
    const run = await claim('mine', owner).acquireWorkRun();
    owner.unload();
    expect(await run.release({ delete: true })).toEqual({ deleted: true });
    expect(existsSync(run.path)).toBe(false);
  });

  it('W3: lowers a retention beyond the ceiling, and refuses one that is none', async () => {
    const { claim } = scene();
    const storage = claim('mine', extension());
    const run = await storage.acquireWorkRun({
      retention: { maxAgeDays: 10_000, maxRuns: 1e9, maxBytes: Number.POSITIVE_INFINITY },
    });
    await expect(storage.acquireWorkRun({ retention: { maxRuns: -1 } })).rejects.toThrow(RetentionError);
    await run.release();
    for (const runId of ['a', 'b', 'c']) await (await storage.acquireWorkRun({ runId })).release();
    const last = await storage.acquireWorkRun({ retention: { maxRuns: 2 } });
    expect(readdirSync(join(last.path, '..')).filter((name) => !name.startsWith('.'))).toHaveLength(3);
    await storage.release();
  });

  it('W3: a failed process holds nothing of it', async () => {
    const { root, held } = scene();
    const code = `
      const places = () => ({ root: args[0], stateDir: '/s', cacheDir: '/c' });
      const run = await room.claimStorage('mine', places).acquireWorkRun({ runId: 'r' });
      console.log(run.path);`;
    const path = runToEnd(code, root).stdout.trim();
    expect(held(path)).toBe(0);
    const other = worker(`${code}\nsetInterval(() => {}, 1000);`, root);
    await other.line();
    expect(held(path)).toBe(1);
    await other.kill();
    expect(readFileSync(join(path, '.pi-work-run.json'), 'utf8')).toContain('"runId":"r"');
  });

  it.each(['Mine', '../mine', '', 'con'])('W2: %j is no namespace', (namespace) => {
    const { claim } = scene();
    expect(() => claim(namespace)).toThrow(InvalidWorkNameError);
  });
});
