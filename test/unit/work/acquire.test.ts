import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { acquireRun, processRun, UnownedDirectoryError, WorkRunGoneError } from '../../../src/work/index.ts';
import { CATEGORY, clockAt, daysAgo, makeScene, NOW, runToEnd, TENANT } from './scene.ts';

const REQUEST = { category: CATEGORY, tenant: TENANT };

describe('a work run', () => {
  it('W3, W4: is a directory of its own, with a manifest that says which', async () => {
    const { root, tenant } = makeScene();
    const run = await acquireRun(root, REQUEST, { clock: clockAt(NOW) });
    expect(run.path).toBe(join(tenant, run.runId));
    expect(JSON.parse(readFileSync(join(run.path, '.pi-work-run.json'), 'utf8'))).toEqual({
      version: 1,
      ...REQUEST,
      runId: run.runId,
      createdAt: NOW.toISOString(),
    });
    const other = await acquireRun(root, REQUEST, { clock: clockAt(NOW) });
    expect(other.path).not.toBe(run.path);
    await Promise.all([run.release(), other.release()]);
  });

  it('rule 2: it and all above it are the user’s alone, whatever the umask', async () => {
    const { root, tenant } = makeScene();
    runToEnd(
      `process.umask(0); await room.acquireRun(args[0], ${JSON.stringify({ ...REQUEST, runId: 'r' })});`,
      root,
    );
    const modes = [root, join(root, CATEGORY), tenant, join(tenant, 'r'), join(tenant, 'r/.leases')];
    expect(modes.map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o700, 0o700, 0o700, 0o700]);
    const files = [
      '.pi-work-run.json',
      ...readdirSync(join(tenant, 'r/.leases')).map((name) => `.leases/${name}`),
    ];
    for (const file of files) expect(statSync(join(tenant, 'r', file)).mode & 0o777, file).toBe(0o600);
  });

  it('W5: of one name is the same for all who hold it, and free after the last', async () => {
    const scene = makeScene();
    const request = { ...REQUEST, runId: 'shared' };
    const [a, b] = [await acquireRun(scene.root, request), await acquireRun(scene.root, request)];
    expect(b.path).toBe(a.path);
    await a.release();
    await scene.prune({ maxRuns: 0 });
    expect(scene.runs()).toEqual(['shared']);
    await b.release();
    await scene.prune({ maxRuns: 0 });
    expect(scene.runs()).toEqual([]);
  });

  it('W7: stays when it is released, and goes at once with delete', async () => {
    const scene = makeScene();
    const [kept, gone] = [await acquireRun(scene.root, REQUEST), await acquireRun(scene.root, REQUEST)];
    writeFileSync(join(gone.path, 'f'), 'x');
    expect(await kept.release()).toEqual({ deleted: false });
    expect(await gone.release({ delete: true })).toEqual({ deleted: true });
    expect(scene.runs()).toEqual([kept.runId]);
    expect(scene.ours()).toEqual(['.pi-work-pruned']);
    expect(scene.log().map(({ event, run, why }) => [event, run, why])).toEqual([
      ['removing', `${CATEGORY}/${TENANT}/${gone.runId}`, 'asked'],
      ['removed', `${CATEGORY}/${TENANT}/${gone.runId}`, undefined],
    ]);
  });

  it('W5: a release with delete does not take a run from another holder', async () => {
    const scene = makeScene();
    const request = { ...REQUEST, runId: 'shared' };
    const [a, b] = [await acquireRun(scene.root, request), await acquireRun(scene.root, request)];
    expect(await a.release({ delete: true })).toEqual({ deleted: false });
    expect(existsSync(b.path)).toBe(true);
    expect(await b.release()).toEqual({ deleted: false });
    expect(await b.release()).toEqual({ deleted: false });
    expect(await a.release({ delete: true })).toEqual({ deleted: true });
  });

  it('W7: touch and release say when it was last used', async () => {
    const { root } = makeScene();
    let now = daysAgo(20);
    const clock = { ...clockAt(now), now: () => now };
    const run = await acquireRun(root, REQUEST, { clock });
    const lastUse = () => statSync(join(run.path, '.pi-work-run.json')).mtime;
    expect(lastUse()).toEqual(daysAgo(20));
    now = daysAgo(10);
    await run.touch();
    expect(lastUse()).toEqual(daysAgo(10));
    now = daysAgo(5);
    await run.release();
    expect(lastUse()).toEqual(daysAgo(5));
    await expect(run.touch()).rejects.toThrow(WorkRunGoneError);
  });

  it('W3: one that somebody removed by hand says so, and can still be released', async () => {
    const { root } = makeScene();
    const run = await acquireRun(root, REQUEST);
    rmSync(run.path, { recursive: true });
    await expect(run.touch()).rejects.toThrow(WorkRunGoneError);
    expect(await run.release({ delete: true })).toEqual({ deleted: false });
  });

  it('W4: a directory without a manifest, or with another’s, is not adopted and not changed', async () => {
    const { root, tenant, run } = makeScene();
    const path = await run('theirs');
    const manifest = readFileSync(join(path, '.pi-work-run.json'), 'utf8');
    const lies: Record<string, string | undefined> = {
      none: undefined,
      empty: '',
      torn: manifest.slice(0, 40),
      anothers: manifest,
      newer: manifest.replace('"version":1', '"version":2').replace('theirs', 'newer'),
      'too-long': manifest.replace('theirs', 'too-long') + ' '.repeat(4_096),
      array: '[]',
    };
    for (const [runId, text] of Object.entries(lies)) {
      mkdirSync(join(tenant, runId));
      writeFileSync(join(tenant, runId, 'precious'), '');
      if (text !== undefined) writeFileSync(join(tenant, runId, '.pi-work-run.json'), text);
      await expect(acquireRun(root, { ...REQUEST, runId }), runId).rejects.toThrow(UnownedDirectoryError);
      expect(readdirSync(join(tenant, runId)), runId).not.toContain('.leases');
    }
  });

  it('rule 8: a link or a file in a run’s or a manifest’s place is not followed', async () => {
    const { root, tenant, outside, run } = makeScene();
    await run('real');
    symlinkSync(join(tenant, 'real'), join(tenant, 'link'));
    symlinkSync(outside, join(tenant, 'out'));
    writeFileSync(join(tenant, 'file'), '');
    mkdirSync(join(tenant, 'linked-manifest'));
    symlinkSync('../real/.pi-work-run.json', join(tenant, 'linked-manifest/.pi-work-run.json'));
    for (const runId of ['link', 'out', 'file', 'linked-manifest'])
      await expect(acquireRun(root, { ...REQUEST, runId }), runId).rejects.toThrow(UnownedDirectoryError);
    symlinkSync(outside, join(root, CATEGORY, 'linked'));
    await expect(acquireRun(root, { ...REQUEST, tenant: 'linked' })).rejects.toThrow('cannot open directory');
    expect(readdirSync(outside)).toEqual([]);
  });

  it('W4: an empty directory that somebody made at its name is not replaced', async () => {
    const { root, tenant, run } = makeScene();
    await run('first');
    mkdirSync(join(tenant, 'empty'));
    chmodSync(join(tenant, 'empty'), 0o755);
    await expect(acquireRun(root, { ...REQUEST, runId: 'empty' })).rejects.toThrow('it has no manifest');
    expect(statSync(join(tenant, 'empty')).mode & 0o777).toBe(0o755);
  });
});

describe('the run of a process', () => {
  it('W3: is the same for all who ask in it, also at the same moment, until it is released', async () => {
    const { root } = makeScene();
    const [a, b] = await Promise.all([processRun(root, REQUEST), processRun(root, REQUEST)]);
    const c = await processRun(root, REQUEST);
    expect([b.path, c.path]).toEqual([a.path, a.path]);
    expect((await processRun(root, { ...REQUEST, runId: 'named' })).path).not.toBe(a.path);
    await a.release();
    const next = await processRun(root, REQUEST);
    expect(next.path).not.toBe(a.path);
    rmSync(next.path, { recursive: true });
    expect((await processRun(root, REQUEST)).path).not.toBe(next.path);
  });

  it('W4: is not what somebody else put in its place', async () => {
    const { root } = makeScene();
    const request = { ...REQUEST, runId: 'named' };
    const run = await processRun(root, request);
    rmSync(run.path, { recursive: true });
    mkdirSync(run.path);
    await expect(run.touch()).rejects.toThrow(WorkRunGoneError);
    await expect(processRun(root, request)).rejects.toThrow(UnownedDirectoryError);
    expect(readdirSync(run.path)).toEqual([]);
  });

  it('W5: is released when the process ends', () => {
    const { root, tenant } = makeScene();
    const { stdout } = runToEnd(
      `console.log((await room.processRun(args[0], ${JSON.stringify(REQUEST)})).runId);`,
      root,
    );
    expect(readdirSync(join(tenant, stdout.trim(), '.leases'))).toEqual([]);
  });
});
