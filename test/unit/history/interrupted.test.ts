import { expect, it } from 'vitest';
import { pruneHistory } from '../../../src/history/index.ts';
import { makeScene } from './scene.ts';

it('S11: a prune that runs out of time tells what it did, and the next does the rest', async () => {
  const scene = makeScene();
  for (let n = 0; n < 600; n++) scene.session(`--p--/${n}.jsonl`, { id: `s-${n}`, mtime: 40 });
  const control = new AbortController();
  const first = await pruneHistory(scene.history, {
    ...scene.options(),
    signal: control.signal,
    between: () => control.abort(),
  });
  expect(first.interrupted).toBe(true);
  expect(first.total).toBe(first.removed.count);
  expect(first.removed.count).toBeLessThan(600);
  const second = await pruneHistory(scene.history, scene.options());
  expect(second.interrupted).toBe(false);
  expect(first.removed.count + second.removed.count).toBe(600);
  expect(Object.keys(scene.files())).toHaveLength(600);
});
