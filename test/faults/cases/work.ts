import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expectThat } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import type { FaultPlan } from '../history/broken-fs.ts';
import { type Result, resultOf, startChild } from '../history/child.ts';
import type { Random } from '../random.ts';
import { check } from '../work/checker.ts';
import type { WorkJob } from '../work/driver.ts';
import { makeWorkScene, NOW, type WorkScene } from '../work/scene.ts';
import type { Findings, WorkWorld } from '../work/world.ts';

const DAY_MS = 86_400_000;
const VERBS = ['prune', 'prune', 'acquire', 'use', 'use-once'] as const;

function run(world: WorkWorld, job: WorkJob): Promise<Result> {
  return resultOf(world.keep(startChild('work', [JSON.stringify(job)])));
}

/** It must have worked, and found nothing that could not be done. */
async function lastPrune(world: WorkWorld, scene: WorkScene, now: Date = NOW): Promise<void> {
  const { end, said } = await run(world, { root: scene.root, now: now.toISOString(), verb: 'prune' });
  expectThat(end === 0, `the last prune failed with ${end}: ${said}`);
  expectThat(!/"kind":"(?:failed|unfinished)"/.test(said), `the last prune left something: ${said}`);
}

async function callsOf(world: WorkWorld, random: Random, job: Omit<WorkJob, 'root'>): Promise<number> {
  const scene = makeWorkScene(world, random);
  const { calls } = await run(world, {
    ...job,
    root: scene.root,
    plan: { at: 0, of: 'changes', fault: 'kill' },
  });
  return Math.max(1, calls);
}

export const workKilled: FaultCase<WorkWorld> = {
  name: 'work-killed',
  about:
    'SIGKILL of an acquire, a release or a prune at a random change, then the next prune: nothing lost or unowned',
  tries: { usual: 300, few: 4 },
  async attempt(world, random, note) {
    const job = { now: NOW.toISOString(), verb: random.pick(VERBS) };
    const calls = await callsOf(world, random, job);
    const scene = makeWorkScene(world, random);
    world.inspect(() => scene.check());
    const fault = random.pick(['kill', 'kill-after', 'kill-torn']);
    const plan: FaultPlan = { at: 1 + random.below(calls), of: 'changes', fault };
    note(`${job.verb}: ${fault} at change ${plan.at} of ${calls}`);
    const { end, said } = await run(world, { ...job, root: scene.root, plan });
    expectThat(end === 'SIGKILL' || end === 0, `ended with ${end} instead: ${said}`);
    await lastPrune(world, scene);
    await usable(world, scene);
  },
};

/** Whatever was killed or refused, the name can be acquired, and removed. */
async function usable(world: WorkWorld, scene: WorkScene): Promise<void> {
  const { end, said } = await run(world, { root: scene.root, now: NOW.toISOString(), verb: 'use-once' });
  expectThat(end === 0 && said.includes('"deleted":true'), `then it cannot be used: ${end} ${said}`);
}

export const workFailingCalls: FaultCase<WorkWorld> = {
  name: 'work-io-errors',
  about:
    'one call fails with EIO, ENOSPC or EACCES: it works or says what failed, and the next prune finishes',
  tries: { usual: 300, few: 4 },
  async attempt(world, random, note) {
    const job = { now: NOW.toISOString(), verb: random.pick(VERBS) };
    const calls = await callsOf(world, random, job);
    const scene = makeWorkScene(world, random);
    world.inspect(() => scene.check());
    const fault = random.pick(['EIO', 'ENOSPC', 'EACCES']);
    const plan: FaultPlan = { at: 1 + random.below(calls * 3), of: 'all', fault };
    note(`${job.verb}: ${fault} at call ${plan.at}`);
    const { end, failure, said } = await run(world, { ...job, root: scene.root, plan });
    expectThat(end === 0 || end === 1, `ended with ${end}: ${said}`);
    // Node's own error would be one that nobody has made into words.
    expectThat(failure === undefined || failure.name !== 'Error', `${failure?.name}: ${failure?.message}`);
    await lastPrune(world, scene);
    await usable(world, scene);
  },
};

export const workClock: FaultCase<WorkWorld> = {
  name: 'work-clock',
  about: 'the clock is a day off for one prune: nothing fresh goes, and the next prune is right',
  tries: { usual: 100, few: 2 },
  async attempt(world, random, note) {
    const scene = makeWorkScene(world, random);
    world.inspect(() => scene.check());
    const days = random.pick([-1, 1, -400]);
    note(`${days} days`);
    const now = new Date(NOW.getTime() + days * DAY_MS).toISOString();
    const { end, said } = await run(world, { root: scene.root, now, verb: 'prune' });
    expectThat(end === 0, `it failed with ${end}: ${said}`);
    await lastPrune(world, scene);
  },
};

export const workDamaged: FaultCase<WorkWorld> = {
  name: 'work-damaged-state',
  about:
    'manifests and markers cut, bit-flipped, emptied or filled: no run goes but what is surely one, and old',
  tries: { usual: 200, few: 4 },
  async attempt(world, random, note) {
    const scene = makeWorkScene(world, random);
    world.inspect(() => scene.check());
    for (const one of scene.runs.filter(() => random.below(2) === 0)) {
      const leases = scene.path(one, '.leases');
      const [marker] = readdirSync(leases);
      const isMarker = marker !== undefined && random.below(2) === 0;
      const how = damage(random, isMarker ? join(leases, marker) : scene.path(one, '.pi-work-run.json'));
      note(`${one.place}: ${isMarker ? 'marker' : 'manifest'} ${how}`);
      // Whether what is left still says that it is a run, and free, is for the damage to say.
      if (one.fate === 'goes') one.fate = 'either';
    }
    scene.remember();
    const { end, said } = await run(world, { root: scene.root, now: NOW.toISOString(), verb: 'prune' });
    expectThat(end === 0, `it failed with ${end}: ${said}`);
  },
};

function damage(random: Random, path: string): string {
  const [content, { atime, mtime }] = [readFileSync(path), statSync(path)];
  const how = random.pick(['cut', 'flipped', 'emptied', 'filled']);
  if (how === 'cut') writeFileSync(path, content.subarray(0, random.below(Math.max(1, content.length))));
  else if (how === 'emptied') writeFileSync(path, '');
  else if (how === 'filled') writeFileSync(path, 'x'.repeat(1 + random.below(6_000)));
  else {
    const at = random.below(Math.max(1, content.length));
    content[at] = (content[at] ?? 0) ^ (1 << random.below(8));
    writeFileSync(path, content);
  }
  utimesSync(path, atime, mtime);
  return how;
}

export const workSwaps: FaultCase<WorkWorld> = {
  name: 'work-swaps',
  about:
    'runs and what is in them are swapped for links to another place while they are removed: nothing goes there',
  tries: { usual: 100, few: 2 },
  async attempt(world, random, note) {
    const scene = makeWorkScene(world, random);
    const swapped = scene.runs.flatMap((one) => [
      scene.path(one),
      scene.path(one, 'd'),
      scene.path(one, '.leases'),
    ]);
    note(`${swapped.length} directories`);
    const swapper = world.keep(
      startChild('swapper', [scene.outside, ...swapped, join(scene.root, 'jobs/shop')]),
    );
    await swapper.ready;
    // Only what lies outside is looked at: what the swapper moves is its own business.
    const outside = (): Findings => ({ ...scene.check(), lost: [], kept: [], 'left over': [], unlogged: [] });
    world.inspect(outside);
    for (let round = 0; round < 3; round++) {
      const { end, said } = await run(world, { root: scene.root, now: NOW.toISOString(), verb: 'prune' });
      expectThat(end === 0 || end === 1, `ended with ${end}: ${said}`);
    }
    swapper.process.stdin?.end();
    await swapper.ended;
  },
};

export const workFullDisk: FaultCase<WorkWorld> = {
  name: 'work-full-disk',
  about: 'no room for a line of the log: what is old goes all the same, and makes room',
  tries: { usual: 40, few: 2 },
  async attempt(world, random, note) {
    if (process.getuid?.() !== 0) {
      note('only root can mount a small file system');
      world.inspect(() => ({ lost: [], kept: [], 'left over': [], outside: [], unlogged: [] }));
      return;
    }
    const disk = mkdtempSync(join(world.directory, 'disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]);
    world.atEnd(() => execFileSync('umount', [disk]));
    const scene = makeWorkScene(world, random, disk);
    try {
      writeFileSync(join(scene.outside, 'ballast'), Buffer.alloc(2 * 1024 * 1024));
    } catch {
      // Full now.
    }
    scene.remember();
    world.inspect(() => scene.check());
    const { end, said } = await run(world, { root: scene.root, now: NOW.toISOString(), verb: 'prune' });
    note(`ended with ${end}`);
    expectThat(end === 0 || end === 1, `ended with ${end}: ${said}`);
    rmSync(join(scene.outside, 'ballast'));
    await lastPrune(world, scene);
  },
};

/** As the crowd's own processes keep it. */
const CROWD_LIMITS = { maxRuns: 3, maxBytes: 256 * 1024 };

export const workRaces: FaultCase<WorkWorld> = {
  name: 'work-races',
  about:
    'many acquire, renew, release and prune at random, some killed: no held run goes, none over the policy stays',
  tries: { usual: 10, few: 1 },
  async attempt(world, random, note, { crowd }) {
    const top = mkdtempSync(join(world.directory, 'crowd-'));
    world.atEnd(() => rmSync(top, { recursive: true, force: true }));
    const [root, journals] = [join(top, 'work'), join(top, 'journals')];
    const seed = String(random.below(1e9));
    const drive = ['drive', root, journals, seed, String(crowd), '5000'];
    const driver = world.keep(startChild('crowd', drive));
    await driver.ended;
    const { end, lines } = await world.keep(startChild('crowd', ['finish', root])).ended;
    expectThat(end === 0, `the last prune ended with ${end}`);
    expectThat(lines.join() === '{"problems":[],"cut":false}', `the last prune said ${lines.join()}`);
    const { wrong, acquired } = check(root, journals, CROWD_LIMITS.maxRuns, CROWD_LIMITS.maxBytes);
    note(`${acquired} runs`);
    world.inspect(() => ({ lost: wrong, kept: [], 'left over': [], outside: [], unlogged: [] }));
  },
};

/** Every kind of fault that work directories are tried with (docs/faults.md). */
export const WORK_FAULTS: readonly FaultCase<WorkWorld>[] = [
  workKilled,
  workFailingCalls,
  workClock,
  workDamaged,
  workSwaps,
  workFullDisk,
  workRaces,
];
