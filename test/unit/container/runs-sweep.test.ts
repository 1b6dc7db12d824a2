import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { pathsOf, sandboxEnvironment } from '../../../src/agent-dir/index.ts';
import { runsSweeper } from '../../../src/container/runs-sweep.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createRun, runsPlace, writeState } from '../../../src/runs/index.ts';
import { until } from '../../setup/pi.ts';
import { graphOf, runRequest } from '../runs/store-scene.ts';
import { makeRoots } from './sandbox.ts';

it('R9: a start sweeps the runs of its domain, and the sandbox’s log says so', async () => {
  const roots = makeRoots();
  const place = runsPlace(sandboxEnvironment(roots), pathsOf(roots).home);
  const request = runRequest('/srv/shop');
  const graph = graphOf({ objective: 'x', steps: [{ id: 'one', prompt: 'y' }] });
  const { directory, state, lock } = await createRun(
    place,
    { ...request, graph, settings: { ...request.settings, terminalRetentionSeconds: 1 } },
    { clock: systemClock, identity: { pid: 1, host: 'gone', uid: 1000 } },
  );
  await writeState(directory, {
    ...state,
    status: 'succeeded',
    terminal: true,
    terminalAt: '2026-01-01T00:00:00.000Z',
  });
  lock.release();
  const notes: [string, Record<string, unknown>][] = [];
  const note = (event: string, facts: Record<string, unknown>): void => void notes.push([event, facts]);
  const start = runsSweeper({ roots, clock: systemClock, host: () => 'sandbox', note }, 0);
  start();
  start();
  await until('the sweep', () => notes.length > 0);
  expect(existsSync(directory)).toBe(false);
  expect(notes).toEqual([
    [
      'runs-swept',
      {
        what: 'scanned 1, expired 0, deleted 1, kept 0',
        bytes: expect.any(Number),
        worktrees: 0,
        first: undefined,
      },
    ],
  ]);
});
