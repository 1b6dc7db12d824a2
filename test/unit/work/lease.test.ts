import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { acquireRun } from '../../../src/work/index.ts';
import { CATEGORY, makeScene, runToEnd, TENANT, worker } from './scene.ts';

const REQUEST = { category: CATEGORY, tenant: TENANT, runId: 'r' };
const HOLD = `
  const run = await room.acquireRun(args[0], ${JSON.stringify(REQUEST)});
  console.log(run.path);
  setInterval(() => {}, 1000);`;
const MARKER = `${'a'.repeat(32)}.lease`;

describe('a lease', () => {
  it('W5: says who holds it, for people', async () => {
    const { root } = makeScene();
    const run = await acquireRun(root, REQUEST);
    const [marker = ''] = readdirSync(join(run.path, '.leases')).filter((name) => name.endsWith('.lease'));
    expect(JSON.parse(readFileSync(join(run.path, '.leases', marker), 'utf8'))).toEqual({
      pid: process.pid,
      host: expect.any(String),
      startedAt: expect.any(String),
      what: `work run ${CATEGORY}/${TENANT}/r`,
    });
    await run.release();
  });

  it('W5: ends with its holder, whatever process has that number by now', async () => {
    const scene = makeScene();
    const holder = worker(HOLD, scene.root);
    const path = await holder.line();
    await scene.prune({ maxRuns: 0 });
    expect(scene.runs()).toEqual(['r']);
    await holder.kill();
    // As if this very process had been given the holder's number, on the same host.
    const [marker = ''] = readdirSync(join(path, '.leases')).filter((name) => name.endsWith('.lease'));
    const record = JSON.parse(readFileSync(join(path, '.leases', marker), 'utf8'));
    writeFileSync(join(path, '.leases', marker), `${JSON.stringify({ ...record, pid: process.pid })}\n`);
    await scene.prune({ maxRuns: 0 });
    expect(scene.runs()).toEqual([]);
  });

  it('W5: is not held by a child that lives on after its holder', async () => {
    const scene = makeScene();
    // Each says a word when it is there, and ends by itself.
    const child = join(scene.outside, 'child.mjs');
    writeFileSync(child, `process.send?.('here'); setTimeout(() => process.exit(), 6_000);`);
    const code = `
      const { fork, spawn } = await import('node:child_process');
      ${HOLD.replace(
        'console.log(run.path)',
        `
      const forked = fork(args[1], { detached: true, execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
      await new Promise((resolve) => forked.once('message', resolve));
      const spawned = spawn('sleep', ['6'], { detached: true, stdio: 'ignore' });
      console.log([forked.pid, spawned.pid].join(' '))`,
      )}`;
    const holder = worker(code, scene.root, child);
    const children = (await holder.line()).split(' ').map(Number);
    await holder.kill();
    await scene.prune({ maxRuns: 0 });
    expect(scene.runs()).toEqual([]);
    for (const pid of children) expect(process.kill(pid, 0)).toBe(true);
  });

  it('W5: of a dead process does not stay beside those of a name that many use', async () => {
    const { root, run } = makeScene();
    const path = await run('r');
    for (let n = 0; n < 3; n++) {
      runToEnd(
        `await room.acquireRun(args[0], ${JSON.stringify(REQUEST)}); process.kill(process.pid, 'SIGKILL');`,
        root,
      );
    }
    const last = await acquireRun(root, REQUEST);
    expect(readdirSync(join(path, '.leases')).filter((name) => name.endsWith('.lease'))).toHaveLength(1);
    await last.release();
  });

  it('W5: of a run whose leases somebody removed cannot be told, so it stays until they are there again', async () => {
    const scene = makeScene();
    const run = await acquireRun(scene.root, REQUEST);
    rmSync(join(run.path, '.leases'), { recursive: true });
    const report = await scene.prune({ maxRuns: 0 });
    expect(report.problems.items).toMatchObject([{ kind: 'lease', reason: '.leases: it is missing' }]);
    expect(scene.runs()).toEqual(['r']);
    // Whoever lets go of it makes them again.
    await run.release();
    await scene.prune({ maxRuns: 0 });
    expect(scene.runs()).toEqual([]);
  });

  it.each<[what: string, make: (leases: string) => void]>([
    ['a file of another name', (leases) => writeFileSync(join(leases, 'other'), '')],
    ['a directory', (leases) => mkdirSync(join(leases, MARKER))],
    ['a link', (leases) => symlinkSync('/dev/null', join(leases, MARKER))],
    ['a marker with other content', (leases) => writeFileSync(join(leases, MARKER), '{"lease":"by others"}')],
    ['an unreadable marker', (leases) => writeFileSync(join(leases, MARKER), 'x'.repeat(10_000))],
  ])('W5: %s counts as held, and is reported', async (_what, make) => {
    const scene = makeScene();
    make(join(await scene.run('r', { days: 90 }), '.leases'));
    const report = await scene.prune({ maxRuns: 0 });
    expect(scene.runs()).toEqual(['r']);
    expect(report).toMatchObject({ kept: 1, active: 1 });
    expect(report.problems.items).toMatchObject([{ path: `${CATEGORY}/${TENANT}/r`, kind: 'lease' }]);
  });

  it.each(['', '{"p', '{"pid":12,"host":"a', '\0\0\0\0'])(
    'W5: a marker of which a crash or a full disk left %j is a dead one’s',
    async (content) => {
      const scene = makeScene();
      writeFileSync(join(await scene.run('r', { days: 90 }), '.leases', MARKER), content);
      await scene.prune();
      expect(scene.runs()).toEqual([]);
    },
  );

  it('W5: one that is held counts, whatever is left of its record', async () => {
    const scene = makeScene();
    const run = await acquireRun(scene.root, REQUEST);
    const [marker = ''] = readdirSync(join(run.path, '.leases'));
    for (const content of ['', '{"pid":', 'garbage']) {
      writeFileSync(join(run.path, '.leases', marker), content);
      await scene.prune({ maxRuns: 0 });
      expect(scene.runs(), content).toEqual(['r']);
    }
    await run.release();
  });
});
