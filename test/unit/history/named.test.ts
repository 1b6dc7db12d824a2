/** What a start names: kept from other prunes, and brought back from the trash (S11). */
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { announceStart, bringBackNamed, type NamedHere, pruneHistory } from '../../../src/history/index.ts';
import { clockAt, makeScene, NOW, type Scene } from './scene.ts';

const OLD = { mtime: 31 };
const NOTHING: NamedHere = { ids: [], files: [], folders: [] };
const later = (seconds: number) => clockAt(new Date(NOW.getTime() + seconds * 1_000));
const own = (scene: Scene): string => join(scene.root, '.history');
const needs = { clock: clockAt(NOW) };

describe('S11: what a start has announced', () => {
  it('S11: stays, whether named by id, file or folder; everything else goes', async () => {
    const scene = makeScene();
    for (const file of ['a/x_one.jsonl', 'a/x_two.jsonl', 'b/x_three.jsonl', 'flat.jsonl', 'c/x_four.jsonl'])
      scene.session(file, { ...OLD, id: /([^_/]+)\.jsonl/.exec(file)?.[1] ?? '' });
    announceStart(scene.history, { ids: ['on'], files: ['b/x_three.jsonl'], folders: [] }, needs);
    announceStart(scene.history, { ids: [], files: [], folders: ['c', '.'] }, needs);
    const report = await pruneHistory(scene.history, scene.options({ clock: later(59) }));
    expect(report).toMatchObject({ total: 1, spared: 4 });
    expect(scene.has('a/x_two.jsonl')).toBe(false);
  });

  it('S11: what somebody chooses from stays for an hour, what a start names for a minute', async () => {
    const scene = makeScene();
    for (const name of ['a/x_named.jsonl', 'b/x_offered.jsonl'])
      scene.session(name, { ...OLD, id: name.slice(4, -6) });
    announceStart(scene.history, { ...NOTHING, ids: ['named'] }, needs);
    announceStart(scene.history, { ...NOTHING, folders: ['b'] }, needs);
    await pruneHistory(scene.history, scene.options({ clock: later(61) }));
    expect([scene.has('a/x_named.jsonl'), scene.has('b/x_offered.jsonl')]).toEqual([false, true]);
    await pruneHistory(scene.history, scene.options({ clock: later(3_601) }));
    expect(scene.has('b/x_offered.jsonl')).toBe(false);
  });

  it('S11: also when the announcement comes in the middle of a prune', async () => {
    const scene = makeScene();
    scene.session('a/x_one.jsonl', { ...OLD, id: 'one' });
    let announced = false;
    const spare = (): boolean => {
      if (!announced) announceStart(scene.history, { ...NOTHING, ids: ['one'] }, needs);
      announced = true;
      return false;
    };
    await pruneHistory(scene.history, scene.options({ spare }));
    expect(scene.has('a/x_one.jsonl')).toBe(true);
  });

  it('S11: a dry run tells the same, and writes nothing', async () => {
    const scene = makeScene();
    scene.session('a/x_one.jsonl', { ...OLD, id: 'one' });
    announceStart(scene.history, { ...NOTHING, ids: ['one'] }, needs);
    const before = readdirSync(own(scene));
    expect(await pruneHistory(scene.history, scene.options({ dryRun: true }))).toMatchObject({ total: 0 });
    expect(readdirSync(own(scene))).toEqual(before);
  });

  it('rule 8: links, damage, later versions, a time in the future and directories in its place keep nothing and hinder nobody', async () => {
    const scene = makeScene();
    scene.session('a/x_one.jsonl', { ...OLD, id: 'one' });
    mkdirSync(own(scene));
    const mark = { version: 1, at: NOW.toISOString(), seconds: 60, ids: ['one'], files: [], folders: [] };
    const outside = join(scene.root, '../outside.json');
    writeFileSync(outside, JSON.stringify(mark));
    symlinkSync(outside, join(own(scene), 'starting-link.json'));
    mkdirSync(join(own(scene), 'starting-directory.json'));
    const contents = {
      damaged: '{"version":1,',
      newer: JSON.stringify({ ...mark, version: 2 }),
      future: JSON.stringify({ ...mark, at: '2030-01-01T00:00:00.000Z' }),
      forever: JSON.stringify({ ...mark, seconds: 1e9 }),
      long: JSON.stringify({ ...mark, files: Array.from({ length: 101 }, (_, at) => `f${at}`) }),
    };
    for (const [name, content] of Object.entries(contents))
      writeFileSync(join(own(scene), `starting-${name}.json`), content);
    expect(await pruneHistory(scene.history, scene.options())).toMatchObject({ total: 1, spared: 0 });
  });
});

describe('S11: what only the trash has', () => {
  const trashed = async (...files: string[]): Promise<Scene> => {
    const scene = makeScene();
    for (const file of files) scene.session(file, { ...OLD, id: /_([^_/]+)\.jsonl/.exec(file)?.[1] ?? '' });
    await pruneHistory(scene.history, scene.options());
    return scene;
  };
  const back = async (scene: Scene, named: Partial<NamedHere>) =>
    (await bringBackNamed(scene.history, { ...NOTHING, ...named }, needs)).map(({ file }) => file);

  it('S11: comes back by its id, the beginning of its id, or its file', async () => {
    const scene = await trashed('a/x_one.jsonl', 'a/x_two.jsonl', 'b/x_three.jsonl', 'b/x_four.jsonl');
    expect(await back(scene, { ids: ['one'] })).toEqual(['a/x_one.jsonl']);
    expect(await back(scene, { ids: ['tw'] })).toEqual(['a/x_two.jsonl']);
    expect(await back(scene, { files: ['b/x_three.jsonl'] })).toEqual(['b/x_three.jsonl']);
    expect(scene.has('b/x_four.jsonl')).toBe(false);
  });

  it('S11: stays there when its place is taken, when another fits, or when several do', async () => {
    const scene = await trashed('a/x_one.jsonl', 'a/x_same1.jsonl', 'b/x_same2.jsonl', 'c/x_here1.jsonl');
    scene.session('a/x_one.jsonl', { id: 'one' });
    scene.session('d/x_here2.jsonl', { id: 'here2' });
    expect(await back(scene, { ids: ['one', 'same', 'here'], files: ['a/x_one.jsonl'] })).toEqual([]);
  });

  it('S11: of several copies the newest', async () => {
    const scene = await trashed('a/x_one.jsonl');
    scene.session('a/x_one.jsonl', { ...OLD, id: 'one', name: 'the newer' });
    await pruneHistory(scene.history, scene.options());
    expect(await back(scene, { files: ['a/x_one.jsonl'] })).toEqual(['a/x_one.jsonl']);
    expect(scene.files()['a/x_one.jsonl']).toContain('the newer');
  });
});
