import { mkdirSync, statSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ask, greetSupervisor, makeRoots, mergeOf, runRequest, startSandbox, temporary } from './sandbox.ts';

async function startWith(mounted: { path: string; inode: string }[]) {
  const sandbox = startSandbox({ roots: makeRoots() });
  await greetSupervisor(sandbox.first);
  return ask(sandbox.first, runRequest(['true']), await mergeOf({ mounted }));
}

it('S17: a folder that was exchanged between the look at it and the mount starts nothing', async () => {
  const path = `${temporary()}/hooks`;
  mkdirSync(path);
  const inode = String(statSync(path, { bigint: true }).ino);
  expect(await startWith([{ path, inode }])).toMatchObject({ answer: 'accepted' });
  expect(await startWith([{ path, inode: '1' }])).toMatchObject({
    answer: 'refused',
    message: expect.stringContaining(`${path} was exchanged`),
  });
});
