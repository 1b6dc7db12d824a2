import { describe, expect, it } from 'vitest';
import { commandScene } from './scene.ts';

const PATIENT = 60_000;

describe('jobs that jobs start (J4, J8)', () => {
  it(
    'J4: a child in the background goes on when its parent is done, and when its parent is killed',
    async () => {
      const { model, call, json } = await commandScene();
      model.callBash('outer one', 'multi-agent start --name inner-one "inner one"', 'Started.');
      model.callBash('outer two', 'multi-agent start --name inner-two "inner two"; sleep 60; true', 'never');
      model.callBash('inner one', 'sleep 2', 'Inner one is done.');
      model.callBash('inner two', 'sleep 2', 'Inner two is done.');
      expect(await call('run', '--name', 'one', 'outer one')).toMatchObject({ code: 0 });
      expect(await json('status', 'inner-one')).toMatchObject({ parent: 'one', exitCode: null });
      await call('start', '--name', 'two', 'outer two');
      await expect
        .poll(async () => (await json('status', 'inner-two')).parent, { timeout: 20_000 })
        .toBe('two');
      expect(await call('kill', 'two')).toMatchObject({ code: 0 });
      expect(await call('wait', 'inner-one', 'inner-two')).toMatchObject({ code: 0 });
      expect((await call('output', 'inner-two')).stdout).toContain('Inner two is done.');
    },
    PATIENT,
  );

  it(
    'J6: an agent does not begin to end a tree that it is in itself',
    async () => {
      const { model, call } = await commandScene();
      model.callBash('outer', 'multi-agent run --name inner "inner"', 'Outer is done.');
      model.callBash('inner', 'multi-agent kill outer --tree 2>refused', 'Inner is done.');
      expect(await call('run', '--name', 'outer', 'outer')).toMatchObject({ code: 0 });
      expect((await call('output', 'inner')).stdout).toContain('Inner is done.');
      expect((await call('peek', 'inner')).stdout).toContain('error bash');
    },
    PATIENT,
  );

  it(
    'J4: a child in the foreground ends with the parent that is killed',
    async () => {
      const { model, call, json } = await commandScene();
      model.callBash('outer three', 'multi-agent run --name inner-three "inner three"', 'never');
      model.callBash('inner three', 'sleep 60', 'never');
      await call('start', '--name', 'three', 'outer three');
      await expect
        .poll(async () => (await json('status', 'inner-three')).status, { timeout: 20_000 })
        .toBe('running');
      expect(await call('kill', 'three')).toMatchObject({ code: 0 });
      await expect
        .poll(async () => (await json('status', 'inner-three')).status, { timeout: 10_000 })
        .toMatch(/^(?:died|killed)$/);
    },
    PATIENT,
  );
});
