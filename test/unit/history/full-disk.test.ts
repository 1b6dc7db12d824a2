import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  clearHistory,
  clearLegacyStore,
  pruneHistory,
  readDeletions,
  surveyLegacy,
} from '../../../src/history/index.ts';
import { smallDisk } from '../lib/temporary.ts';
import { legacyScene, SEAL, tableOf } from './legacy-scene.ts';
import { collect, makeScene } from './scene.ts';

/** Takes the last byte; gives the file that has them. */
function fill(disk: string): string {
  const filler = join(disk, 'filler');
  for (const piece of [65_536, 4_096, 512, 1]) {
    try {
      for (;;) writeFileSync(filler, Buffer.alloc(piece), { flag: 'a' });
    } catch {
      // As much of these as fits.
    }
  }
  expect(lstatSync(filler).size).toBeGreaterThan(100_000);
  return filler;
}

describe('a full disk', () => {
  it.for([7, 0])(
    'S11: with %d days of trash no Session is lost, and none goes without a trace',
    async (trashDays, context) => {
      const disk = smallDisk(512);
      if ('skip' in disk) return context.skip(disk.skip);
      const scene = makeScene(disk.path);
      const texts = new Map<string, string>();
      for (let n = 0; n < 20; n++)
        texts.set(`s${n}`, scene.session(`--p--/s${n}.jsonl`, { mtime: n % 2 ? 90 : 1 }));
      const filler = fill(disk.path);
      const retention = { days: 30, trashDays };
      await pruneHistory(scene.history, scene.options({ retention })).catch(() => undefined);
      const kept = Object.values(scene.files());
      for (const [id, text] of texts)
        if (trashDays > 0 || Number(id.slice(1)) % 2 === 0) expect(kept, id).toContain(text);
      rmSync(filler);
      const report = await pruneHistory(scene.history, scene.options({ retention }));
      expect(report.problems.items).toEqual([]);
      expect(readdirSync(join(scene.root, '--p--'))).toHaveLength(10);
      if (trashDays > 0) expect(new Set(Object.values(scene.files()))).toEqual(new Set(texts.values()));
    },
  );

  // Of the announcement the log's last block takes more, or less, or none at all.
  it.for([0, 100, 2_000, 4_090])(
    'S11: what is over in the trash makes room, also where the log takes a part of its line (%d)',
    async (logged, context) => {
      const disk = smallDisk(1_024);
      if ('skip' in disk) return context.skip(disk.skip);
      const scene = makeScene(disk.path);
      for (let n = 0; n < 40; n++)
        scene.session(`.trash/2026-11-01/--p--/t${n}.jsonl.trashed`, { mtime: 90 });
      mkdirSync(join(scene.root, '.history'));
      writeFileSync(join(scene.root, '.history/deletions.log'), `${'x'.repeat(logged)}\n`);
      fill(disk.path);
      const report = await pruneHistory(scene.history, scene.options());
      expect(report).toMatchObject({ expiredTrash: { count: 40 }, problems: { items: [] } });
      const done = (await collect(readDeletions(scene.history))).filter(
        (line) => line.kind === 'entry' && line.entry.outcome === 'done',
      );
      expect(done).toHaveLength(40);
    },
  );

  it('S13: clear makes room', async (context) => {
    const disk = smallDisk(1_024);
    if ('skip' in disk) return context.skip(disk.skip);
    const scene = makeScene(disk.path);
    for (let n = 0; n < 40; n++) scene.session(`--p--/s${n}.jsonl`);
    fill(disk.path);
    expect(await clearHistory(scene.history, {})).toMatchObject({ sessions: { count: 40 } });
    expect(scene.files()).toEqual({});
  });

  it('S13: clear --legacy makes room, and logs it', async (context) => {
    const disk = smallDisk(1_024);
    if ('skip' in disk) return context.skip(disk.skip);
    const scene = legacyScene(join(disk.path, 'scene'));
    for (let n = 0; n < 40; n++) scene.write({ id: `old-${n}`, cwd: '/nowhere' });
    const needs = { sharedRoot: scene.sharedRoot, table: tableOf({}), seal: SEAL };
    surveyLegacy(needs);
    writeFileSync(join(scene.store, '.pi-sandbox-legacy-log.jsonl'), 'x'.repeat(3_900));
    fill(disk.path);
    expect(await clearLegacyStore(needs)).toMatchObject({ deleted: { count: 40 }, problems: { items: [] } });
    expect(scene.sessions(scene.store)).toEqual(['.pi-sandbox-legacy-log.jsonl']);
    const log = readFileSync(join(scene.store, '.pi-sandbox-legacy-log.jsonl'), 'utf8').split('\n');
    for (let n = 0; n < 40; n++) {
      const named = log.filter((line) => line.includes(`/old-${n}.jsonl"`));
      expect(named.filter((line) => line.startsWith('{"version":1') && line.endsWith('}'))).not.toEqual([]);
    }
  });
});
