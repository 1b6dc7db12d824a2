/** How a run is drawn (R8). */
import { describe, expect, it } from 'vitest';
import { drawRun } from '../../../src/agent/runs/draw.ts';
import { inOrder, laneRows } from '../../../src/agent/runs/graph-lanes.ts';
import { type KnownRun, newRunState, type StepState } from '../../../src/runs/index.ts';
import { graphOf, storeScene } from './store-scene.ts';

function drawn(graph: Record<string, string[]>): string {
  const steps = Object.entries(graph).map(([id, waitsFor]) => ({ id, waitsFor }));
  return `\n${laneRows(steps)
    .map(({ id, lanes }) => `${lanes.padEnd(8)}${id ?? ''}`.trimEnd())
    .join('\n')}\n`;
}

describe('a graph as lanes', () => {
  it('R8: one after the other is one line', () => {
    expect(drawn({ a: [], b: ['a'], c: ['b'] })).toBe(`
*       a
*       b
*       c
`);
  });

  it('R8: what begins together parts, and what is waited for comes together', () => {
    expect(drawn({ plan: [], a: ['plan'], b: ['plan'], c: ['plan'], sum: ['a', 'b', 'c'] })).toBe(`
*       plan
├─┬─╮
* │ │   a
│ * │   b
├─╯ │
│   *   c
├───╯
*       sum
`);
  });

  it('R8: lines of several steps may cross', () => {
    expect(drawn({ a: [], b: [], c: [], d: ['a', 'c'], e: ['b'], f: ['d', 'e'], g: ['a'] })).toBe(`
*       a
├─╮
│ │ *   b
│ │ │ * c
├─┼─┼─╯
* │ │   d
│ │ *   e
├─┼─╯
* │     f
  *     g
`);
  });

  it('R8: a step stands below all that it waits for, wherever the file has it', () => {
    const steps = [
      { id: 'last', waitsFor: ['first'] },
      { id: 'first', waitsFor: [] },
    ];
    expect(inOrder(steps).map(({ id }) => id)).toEqual(['first', 'last']);
  });

  it('R8: a graph that is too wide is a list', () => {
    const wide = Object.fromEntries(Array.from({ length: 40 }, (_, number) => [`s${number}`, ['top']]));
    const lines = drawn({ top: [], ...wide })
      .trim()
      .split('\n');
    expect(lines).toHaveLength(41);
    expect(lines.every((line) => /^\* {7}\w+$/.test(line))).toBe(true);
  });
});

describe('a run as it is shown', () => {
  const now = new Date('2026-01-31T09:10:00.000Z');
  const graph = graphOf({
    objective: 'make it good',
    steps: [
      { id: 'plan', prompt: 'x' },
      { id: 'build-the-whole-thing-with-a-long-name', prompt: 'x', needs: ['plan'] },
      { id: 'test', prompt: 'x', needs: ['plan'] },
      { id: 'ship', prompt: 'x', needs: ['build-the-whole-thing-with-a-long-name', 'test'] },
    ],
  });

  async function run(steps: Record<string, Partial<StepState>>): Promise<KnownRun> {
    const { manifest, directory } = await storeScene().orphan(
      { createdAt: '2026-01-31T09:00:00.000Z' },
      {},
      graph,
    );
    const state = newRunState(manifest.runId, graph, now);
    const changed = Object.entries(state.steps).map(([id, step]) => [id, { ...step, ...steps[id] }]);
    const all = { ...state, status: 'running', steps: Object.fromEntries(changed) } as const;
    return { kind: 'run', id: '20260131t090000-abcdef', directory, manifest, state: all, held: true };
  }

  it('R8: has a line a step: its state, its time, what it used, and what it waits for', async () => {
    const known = await run({
      plan: { status: 'succeeded', startedAt: '2026-01-31T09:00:00Z', endedAt: '2026-01-31T09:02:05Z' },
      'build-the-whole-thing-with-a-long-name': { status: 'running', startedAt: '2026-01-31T09:02:06Z' },
      test: {
        status: 'failed',
        startedAt: '2026-01-31T09:02:06Z',
        endedAt: '2026-01-31T09:03:06Z',
        reason: 'it found nothing to test\u001b[31m',
      },
    });
    const used = new Map([
      ['plan', { tokens: 12_345, cost: 0.25 }],
      ['test', { tokens: 900, cost: 1.5 }],
    ]);
    const facts = { run: known, ownerClass: 'this-session', used, now, columns: 80 } as const;
    const text = drawRun({ ...facts, colours: false });
    expect(`\n${text}`).toBe(`
20260131t090000-abcdef  running  this-session
make it good
2 of 4 steps, 10 minutes, 13.2k tokens, $1.75

✓    plan                      succeeded  2m 05s  12.3k  $0.250
├─╮
● │  build-the-whole-thing-w…  running    7m 54s
│ ✗  test                      failed     1m 00s    900   $1.50  it found nothi…
├─╯
○    ship                      pending                           waits for buil…
`);
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(drawRun({ ...facts, colours: true })).toContain('\u001b[32m✓\u001b[0m');
  });

  it('R3: says of a step whose job has not begun that it is queued', async () => {
    const known = await run({ plan: { status: 'running', startedAt: '2026-01-31T09:00:00Z' } });
    const used = new Map([['plan', { tokens: 0, cost: 0, queued: true }]]);
    const facts = { run: known, ownerClass: 'this-session', used, now, columns: 80 } as const;
    expect(drawRun({ ...facts, colours: false })).toMatch(/^◌ +plan +queued /m);
  });

  it('R8: gives more room to what it waits for where there is some', async () => {
    const facts = { ownerClass: 'orphan', used: new Map(), now, columns: 160, colours: false } as const;
    const text = drawRun({ ...facts, run: await run({}) });
    expect(text).toContain('waits for build-the-whole-thing-with-a-long-name, test');
  });
});
