import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { acquireRun, pruneAll, retentionOf, WorkBusyError } from '../../../src/work/index.ts';
import { CATEGORY, clockAt, daysAgo, makeScene, NAME, NOW, TENANT, worker } from './scene.ts';

const MIB = 1024 * 1024;
const MANIFEST = '.pi-work-run.json';

describe('a prune', () => {
  it('W7: removes what is too old by its own last use, and says what, when and why', async () => {
    const scene = makeScene();
    await scene.run('old', { days: 31, bytes: 8_192 });
    await scene.run('young', { days: 29 });
    const report = await scene.prune();
    expect(scene.runs()).toEqual(['young']);
    expect(report).toMatchObject({ dryRun: false, kept: 1, active: 0, cut: false });
    expect(report.removed.items).toEqual([
      { ...NAME, runId: 'old', why: 'age', lastUse: daysAgo(31), bytes: report.removedBytes },
    ]);
    expect(report.removedBytes).toBeGreaterThanOrEqual(8_192);
    const run = `${CATEGORY}/${TENANT}/old`;
    expect(scene.log()).toEqual([
      {
        version: 1,
        at: NOW.toISOString(),
        event: 'removing',
        run,
        why: 'age',
        lastUse: daysAgo(31).toISOString(),
      },
      {
        version: 1,
        at: NOW.toISOString(),
        event: 'removed',
        run,
        bytes: report.removedBytes,
        entries: expect.any(Number),
      },
    ]);
    expect(statSync(join(scene.root, '.pi-work/deletions.log')).mode & 0o777).toBe(0o600);
  });

  it('W7: what a manifest says of the making of a run does not make it older', async () => {
    const scene = makeScene();
    const path = join(await scene.run('r'), MANIFEST);
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replace(/"createdAt":"[^"]*"/, '"createdAt":"1999-01-01T00:00:00.000Z"'),
    );
    utimesSync(path, daysAgo(1), daysAgo(1));
    await scene.prune();
    expect(scene.runs()).toEqual(['r']);
  });

  it('W7: keeps what is in use, however old, many and large', async () => {
    const scene = makeScene();
    const path = await scene.run('held', { days: 90, bytes: MIB });
    const run = await acquireRun(scene.root, { ...NAME, runId: 'held' }, { clock: clockAt(daysAgo(90)) });
    const report = await scene.prune({ maxAgeDays: 0, maxRuns: 0, maxBytes: 0 });
    expect(existsSync(join(path, 'content'))).toBe(true);
    expect(report).toMatchObject({ kept: 1, active: 1, keptBytes: 0 });
    await run.release();
  });

  it('W7: a run that was held for long and whose holder crashed is as old as the last prune that saw it held', async () => {
    const scene = makeScene();
    const holder = worker(
      `await room.acquireRun(args[0], ${JSON.stringify({ ...NAME, runId: 'r' })}); console.log('held'); setInterval(() => {}, 1000);`,
      scene.root,
    );
    await holder.line();
    utimesSync(join(scene.tenant, 'r', MANIFEST), daysAgo(40), daysAgo(40));
    await scene.prune();
    await holder.kill();
    await scene.prune();
    expect(scene.runs()).toEqual(['r']);
    await scene.prune({}, { clock: clockAt(daysAgo(-31)) });
    expect(scene.runs()).toEqual([]);
  });

  it('W7: one huge run goes itself, and no older small one', async () => {
    const scene = makeScene();
    for (const days of [1, 2, 3]) await scene.run(`small-${days}`, { days, bytes: 4_096 });
    await scene.run('huge', { bytes: 2 * MIB });
    const report = await scene.prune({ maxBytes: MIB });
    expect(scene.runs()).toEqual(['small-1', 'small-2', 'small-3']);
    expect(report.removed.items).toMatchObject([{ runId: 'huge', why: 'bytes' }]);
    expect(report.keptBytes).toBeGreaterThan(0);
  });

  it('W7: a run of more entries than are looked at goes itself, and makes no other unmeasurable', async () => {
    const scene = makeScene();
    for (const days of [1, 2, 3]) await scene.run(`small-${days}`, { days, files: 20 });
    await scene.run('huge', { files: 300 });
    const report = await scene.prune({ maxScannedEntries: 200 });
    expect(scene.runs()).toEqual(['small-1', 'small-2', 'small-3']);
    expect(report.removed.items).toMatchObject([{ runId: 'huge', why: 'unmeasured' }]);
  });

  it('W7: a listing that is cut costs no fresh run, and what it did not see is not counted against what it did', async () => {
    const scene = makeScene();
    for (let n = 0; n < 12; n++) await scene.run(`r${n}`, { days: n });
    const report = await scene.prune({ maxScannedRuns: 5, maxRuns: 12, maxBytes: 12 * 64 * 1024 });
    expect(report).toMatchObject({ cut: true, kept: 5 });
    expect(scene.runs()).toHaveLength(12);
  });

  it('W7: a listing that is cut is gone on with as long as something goes', async () => {
    const scene = makeScene();
    for (let n = 0; n < 12; n++) await scene.run(`r${n}`, { days: 40 });
    const report = await scene.prune({ maxScannedRuns: 5 });
    expect(scene.runs()).toEqual([]);
    expect(report.removed.items).toHaveLength(12);
  });

  it('W4: leaves what is not its own, and reports it', async () => {
    const scene = makeScene();
    const manifest = readFileSync(join(await scene.run('mine'), MANIFEST), 'utf8');
    for (const [name, text] of Object.entries({
      none: undefined,
      lying: manifest,
      newer: manifest.replace('1', '2'),
    })) {
      mkdirSync(join(scene.tenant, name));
      if (text) writeFileSync(join(scene.tenant, name, MANIFEST), text);
    }
    mkdirSync(join(scene.tenant, 'UPPER'));
    writeFileSync(join(scene.tenant, 'file'), '');
    const report = await scene.prune({ maxAgeDays: 0, maxRuns: 0, maxBytes: 0 });
    expect(scene.runs()).toEqual(['UPPER', 'file', 'lying', 'newer', 'none']);
    expect(report.problems.items.map(({ path, kind }) => `${path.split('/').at(-1)} ${kind}`).sort()).toEqual(
      [...['UPPER foreign', 'file foreign', 'lying unowned', 'newer unowned', 'none unowned']],
    );
  });

  it('rule 6: a dry run changes nothing and says what would go', async () => {
    const scene = makeScene();
    await scene.run('old', { days: 31 });
    await scene.run('young');
    const before = [scene.runs(), scene.ours(), readdirSync(join(scene.root, '.pi-work'))];
    const report = await scene.prune({}, { dryRun: true });
    expect(report).toMatchObject({
      dryRun: true,
      kept: 1,
      removed: { items: [{ runId: 'old', why: 'age' }] },
    });
    expect([scene.runs(), scene.ours(), readdirSync(join(scene.root, '.pi-work'))]).toEqual(before);
    const untouched = makeScene();
    await untouched.prune({}, { dryRun: true });
    await untouched.prune();
    expect(existsSync(untouched.root)).toBe(false);
  });

  it('W7: of one work root there is one at a time, and another waits for it', async () => {
    const scene = makeScene();
    await scene.run('r');
    const code = `
      const clock = { now: () => new Date(), monotonic: () => 0, sleep: async () => {} };
      const between = () => { console.log('pruning'); for (;;); };
      await room.pruneTenant(args[0], ${JSON.stringify(NAME)}, room.retentionOf({ maxRuns: 0 }), { between });`;
    const other = worker(code, scene.root);
    expect(await other.line()).toBe('pruning');
    await expect(scene.prune({}, { waitMs: 50 })).rejects.toThrow(WorkBusyError);
    await other.kill();
    await scene.prune({ maxRuns: 0 });
    expect(scene.runs()).toEqual([]);
  });

  it('rule 7: the log keeps its newest parts', async () => {
    const scene = makeScene();
    await scene.run('a', { days: 40 });
    await scene.prune();
    const own = join(scene.root, '.pi-work');
    for (let round = 0; round < 5; round++) {
      writeFileSync(join(own, 'deletions.log'), `${'x'.repeat(8 * MIB)}\n`);
      await scene.run(`r${round}`, { days: 40 });
      await scene.prune();
    }
    expect(readdirSync(own).sort()).toEqual([
      'deletions.log',
      'deletions.log.1',
      'deletions.log.2',
      'deletions.log.3',
      'prune.lock',
    ]);
    expect(scene.log()).toHaveLength(2);
  });
});

describe('a prune of all tenants', () => {
  async function tenants(root: string, sizes: Record<string, number>): Promise<void> {
    for (const [place, bytes] of Object.entries(sizes)) {
      const [category = '', tenant = '', runId = '', days = '0'] = place.split('/');
      const clock = clockAt(daysAgo(Number(days)));
      const run = await acquireRun(root, { category, tenant, runId }, { clock });
      writeFileSync(join(run.path, 'content'), Buffer.alloc(bytes));
      await run.release();
    }
  }

  it('W7: reaches tenants that nobody acquires any more, and ends those that are empty', async () => {
    const { root } = makeScene();
    await tenants(root, { 'a/x/r/40': 1, 'a/y/r/1': 1, 'b/z/r/99': 1 });
    const report = await pruneAll(root, retentionOf(), { clock: clockAt(NOW) });
    expect(report.removed.items.map(({ category, tenant }) => `${category}/${tenant}`).sort()).toEqual([
      'a/x',
      'b/z',
    ]);
    expect(readdirSync(root).sort()).toEqual(['.pi-work', 'a']);
    expect(readdirSync(join(root, 'a'))).toEqual(['y']);
  });

  it('W7: keeps all together below their limit, with the same preferences as one tenant', async () => {
    const { root } = makeScene();
    await tenants(root, { 'a/x/small/9': 4_096, 'a/y/huge/0': 2 * MIB, 'b/z/small/5': 4_096 });
    const report = await pruneAll(root, retentionOf(), { clock: clockAt(NOW), totalBytes: MIB });
    expect(report.removed.items).toMatchObject([{ tenant: 'y', runId: 'huge', why: 'total' }]);
    expect(report).toMatchObject({ kept: 2 });
    expect(report.keptBytes).toBeLessThanOrEqual(MIB);
  });

  it('W4: leaves what is no category and no tenant, and reports it', async () => {
    const { root } = makeScene();
    await tenants(root, { 'a/x/r/0': 1 });
    mkdirSync(join(root, 'Category'));
    writeFileSync(join(root, 'a/file'), '');
    mkdirSync(join(root, 'a/..x'));
    const report = await pruneAll(root, retentionOf({ maxRuns: 0 }), { clock: clockAt(NOW) });
    expect(report.problems.items.map(({ path, kind }) => [path, kind]).sort()).toEqual([
      ['Category', 'foreign'],
      ['a/..x', 'foreign'],
      ['a/file', 'foreign'],
    ]);
    expect(readdirSync(root).sort()).toEqual(['.pi-work', 'Category', 'a']);
  });
});

describe('what ended processes left', () => {
  it('W6: a deletion that was killed half way is finished by the next prune', async () => {
    const scene = makeScene();
    await scene.run('r', { files: 3 });
    const code = `
      const between = (step) => { if (step === 'announced') process.kill(process.pid, 'SIGKILL'); };
      await room.pruneTenant(args[0], ${JSON.stringify(NAME)}, room.retentionOf({ maxRuns: 0 }), { between });`;
    await worker(code, scene.root).line();
    expect(scene.ours().filter((name) => name.startsWith('.tombstone-'))).toHaveLength(1);
    await scene.prune();
    expect(existsSync(scene.tenant)).toBe(false);
    expect(scene.log().map(({ event }) => event)).toEqual(['removing', 'resuming', 'removed']);
  });

  it('W6: a tombstone that says it is another tenant’s is left and reported', async () => {
    const scene = makeScene();
    const path = await scene.run('r');
    const tombstone = `.tombstone-${'a'.repeat(32)}`;
    renameSync(path, join(scene.tenant, tombstone));
    const manifest = join(scene.tenant, tombstone, MANIFEST);
    writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(TENANT, 'other'));
    const report = await scene.prune();
    expect(report.problems.items).toMatchObject([{ kind: 'unowned' }]);
    expect(existsSync(manifest)).toBe(true);
  });

  it('W4: a run that was being built is cleared, but nothing that no build makes', async () => {
    const scene = makeScene();
    await scene.run('r');
    const [whole, strange] = ['a', 'b'].map((letter) => join(scene.tenant, `.building-${letter.repeat(32)}`));
    for (const path of [whole ?? '', strange ?? '']) {
      mkdirSync(join(path, '.leases'), { recursive: true });
      writeFileSync(join(path, '.leases', `${'c'.repeat(32)}.lease`), '');
    }
    writeFileSync(join(strange ?? '', 'precious'), '');
    const report = await scene.prune();
    expect(existsSync(whole ?? '')).toBe(false);
    const [left = '', ...more] = scene.ours().filter((name) => name.startsWith('.building-'));
    expect(more).toEqual([]);
    expect(readdirSync(join(scene.tenant, left))).toEqual(['precious']);
    expect(report.problems.items).toMatchObject([{ kind: 'unowned' }]);
  });

  it('W4: a run that somebody is still building is left to them', async () => {
    const scene = makeScene();
    await scene.run('r');
    const code = `
      const between = (step) => { if (step === 'built') { console.log('built'); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500); } };
      const run = await room.acquireRun(args[0], ${JSON.stringify({ ...NAME, runId: 'new' })}, { between });
      console.log(run.path);
      setInterval(() => {}, 1000);`;
    const builder = worker(code, scene.root);
    expect(await builder.line()).toBe('built');
    const report = await scene.prune({ maxRuns: 0 });
    expect(report.problems.items).toEqual([]);
    expect(await builder.line()).toBe(join(scene.tenant, 'new'));
    await scene.prune({ maxRuns: 0 });
    expect(scene.runs()).toEqual(['new']);
  });
});

describe('a report', () => {
  it('rule 7: of many planted directories still says what failed', async () => {
    const scene = makeScene();
    mkdirSync(join(await scene.run('held'), '.leases/foreign'));
    for (let n = 0; n < 250; n++) mkdirSync(join(scene.tenant, `planted-${n}`));
    const { problems } = await scene.prune({ maxRuns: 0 });
    expect(problems.items).toHaveLength(200);
    expect(problems.omitted).toBe(51);
    expect(problems.items.filter(({ kind }) => kind === 'lease')).toHaveLength(1);
  });
});
