import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expectThat } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import { look } from '../history/census.ts';
import { runJob, runWhole, startChild } from '../history/child.ts';
import { NOW, type Scene } from '../history/scene.ts';
import type { HistoryWorld } from '../history/world.ts';
import type { Random } from '../random.ts';
import { jobOf, prunedBefore } from './prune-killed.ts';

const TODAY = NOW.toISOString().slice(0, 10);

/** What a hostile session plants: each leads out of the sessions directory, to things old enough to be pruned. */
const PLANTS: Record<string, (scene: Scene) => void> = {
  'a folder': ({ sessions, outside }) =>
    symlinkSync(join(outside, 'sessions/--home-me-old--'), join(sessions, '--x--')),
  'the whole of another sessions directory': ({ sessions, outside }) =>
    symlinkSync(join(outside, 'sessions'), join(sessions, '--y--')),
  'a file': ({ sessions, outside }) =>
    symlinkSync(join(outside, '2020-01-01T00-00-00-000Z_outside.jsonl'), join(sessions, '2020_z.jsonl')),
  'a directory named like a Session': ({ sessions }) => mkdirSync(join(sessions, '2020_d.jsonl')),
  'a pipe': ({ sessions }) => void execFileSync('mkfifo', [join(sessions, '2020_p.jsonl')]),
  'a second name of an outer file': ({ sessions, outside }) =>
    linkSync(join(outside, 'settings.json'), join(sessions, '2020_hard.jsonl')),
  'a circle': ({ sessions }) => symlinkSync('.', join(sessions, '--circle--')),
  'the trash': ({ sessions, outside }) => {
    rmSync(join(sessions, '.trash'), { recursive: true, force: true });
    symlinkSync(join(outside, '.trash'), join(sessions, '.trash'));
  },
  "the trash's day": ({ sessions, outside }) => {
    mkdirSync(join(sessions, '.trash'), { recursive: true });
    rmSync(join(sessions, '.trash', TODAY), { recursive: true, force: true });
    symlinkSync(join(outside, '.trash/2020-01-01'), join(sessions, '.trash', TODAY));
  },
  'an old day of the trash': ({ sessions, outside }) => {
    mkdirSync(join(sessions, '.trash'), { recursive: true });
    symlinkSync(join(outside, '.trash/2020-01-01'), join(sessions, '.trash/2019-01-01'));
  },
  "the room's own folder": ({ sessions, outside }) => symlinkSync(outside, join(sessions, '.history')),
  'its lock': ({ sessions, outside }) => {
    mkdirSync(join(sessions, '.history'));
    symlinkSync(join(outside, 'auth.json'), join(sessions, '.history/lock'));
  },
  'its log': ({ sessions, outside }) => {
    mkdirSync(join(sessions, '.history'));
    symlinkSync(join(outside, 'settings.json'), join(sessions, '.history/deletions.log'));
  },
  'a pipe for its log': ({ sessions }) => {
    mkdirSync(join(sessions, '.history'));
    execFileSync('mkfifo', [join(sessions, '.history/deletions.log')]);
  },
  'its notice': ({ sessions, outside }) => {
    mkdirSync(join(sessions, '.history'));
    symlinkSync(join(outside, 'settings.json'), join(sessions, '.history/first-deletion-shown.json'));
  },
  'a file for the trash': ({ sessions }) => {
    rmSync(join(sessions, '.trash'), { recursive: true, force: true });
    writeFileSync(join(sessions, '.trash'), 'x');
  },
};

export const pruneLinks: FaultCase<HistoryWorld> = {
  name: 'prune-links',
  about:
    'links and special files planted below the sessions directory: nothing outside is touched, no prune hangs',
  tries: { usual: 100, few: 4 },
  async attempt(world, random, note) {
    const scene = world.scene(random, { foreign: true });
    const names = Object.keys(PLANTS);
    const first = names[random.below(names.length)] ?? '';
    for (const name of new Set([first, names[random.below(names.length)] ?? ''])) {
      note(name);
      try {
        PLANTS[name]?.(scene);
      } catch (error) {
        note(String(error));
      }
    }
    await afterPlanting(scene);
    const retention = { days: 7, trashDays: random.pick([0, 7]) };
    if (retention.trashDays === 0) scene.promises.mayBeGone = new Set(scene.known.keys());
    for (const work of [{ verb: 'prune', retention } as const, { verb: 'list', retention } as const]) {
      const { end, failure, said } = await runJob(jobOf(scene, work));
      expectThat(end === 0 || failure !== undefined, `${work.verb} ended with ${end}: ${said}`);
      expectPlain(said, failure?.name);
    }
  },
};

/** What was planted is neither a Session nor anybody's to remove. */
function afterPlanting(scene: Scene): void {
  scene.canary = look(scene.outside);
  const known = new Set([...scene.known.values()].map(({ path }) => path));
  scene.strange = look(scene.sessions).filter(({ path, kind }) => kind !== 'directory' && !known.has(path));
}

/** A failure is one of ours, by name: never a TypeError or the system's own. */
export function expectPlain(said: string, name: string | undefined): void {
  const ours = name === undefined || /^(?!TypeError|RangeError|ReferenceError|SyntaxError|Error$)/.test(name);
  expectThat(ours, `it failed with a fault of its own: ${said}`);
}

export const pruneSwaps: FaultCase<HistoryWorld> = {
  name: 'prune-swaps',
  about: 'directories swapped for links out of the tree, again and again, while prunes and restores walk it',
  tries: { usual: 60, few: 1 },
  async attempt(world, random, note) {
    const { scene, work } = await prunedBefore(world, random, note);
    const folders = readdirSync(scene.sessions, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(scene.sessions, name));
    const day = join(scene.sessions, '.trash', TODAY);
    const swapped = [
      ...folders,
      join(scene.sessions, '.trash'),
      join(scene.sessions, '.history'),
      day,
    ].filter(() => random.below(2) === 0);
    const target = join(
      scene.outside,
      random.pick<string>(['.', 'sessions', 'sessions/--home-me-old--', '.trash/2020-01-01']),
    );
    const swapper = world.keep(startChild('swapper', [target, ...swapped, day]));
    await swapper.ready;
    const retention = { days: 7, trashDays: 30 };
    const restore = { verb: 'restore-all', retention } as const;
    for (const job of [work, restore, work, work]) {
      const { end, failure, said } = await runJob(jobOf(scene, job));
      expectThat(end === 0 || failure !== undefined, `it ended with ${end}: ${said}`);
      expectPlain(said, failure?.name);
    }
    swapper.process.stdin?.end();
    const { end, stderr } = await swapper.ended;
    expectThat(end === 0, `the swapper failed: ${stderr}`);
    putBack(scene);
    // What the swapper moved aside while it was being made has its place no more.
    scene.promises.times = false;
    await runWhole(jobOf(scene, work));
    putBack(scene);
  },
};

/** Where both the directory and the one that was moved aside are there, their contents are put together. */
export function putBack(scene: Scene): void {
  for (const { path, kind } of look(scene.sessions).reverse()) {
    if (kind !== 'directory' || !path.endsWith('.aside')) continue;
    const aside = join(scene.sessions, path);
    const place = aside.slice(0, -'.aside'.length);
    if (!existsSync(place)) renameSync(aside, place);
    else
      for (const name of readdirSync(aside)) {
        if (!existsSync(join(place, name))) renameSync(join(aside, name), join(place, name));
      }
  }
}

export const pruneDamaged: FaultCase<HistoryWorld> = {
  name: 'prune-damaged-state',
  about:
    "the room's own files cut, bit-flipped or emptied between two prunes: nothing is lost, the next one works",
  tries: { usual: 100, few: 3 },
  async attempt(world, random, note) {
    const { scene, work } = await prunedBefore(world, random, note);
    scene.promises.logged = false;
    await runWhole(jobOf(scene, { verb: 'acknowledge' }));
    const state = look(scene.sessions).filter(
      ({ path, kind }) => kind === 'file' && path.startsWith('.history/'),
    );
    expectThat(state.length > 0, 'there is no state to damage');
    const victim = join(scene.sessions, state[random.below(state.length)]?.path ?? '');
    note(victim.slice(scene.sessions.length));
    damage(victim, random, note);
    await runWhole(jobOf(scene, work));
    await runWhole(jobOf(scene, { verb: 'list', retention: { days: 7, trashDays: 7 } }));
    if (work.verb === 'prune') scene.promises.settled = { now: NOW, days: work.retention.days };
  },
};

function damage(file: string, random: Random, note: (text: string) => void): void {
  const content = readFileSync(file);
  const { atime, mtime } = statSync(file);
  const kind = random.pick(['cut', 'bit', 'bits', 'empty', 'garbage', 'nul']);
  note(kind);
  const at = (): number => random.below(Math.max(1, content.length));
  if (kind === 'cut') writeFileSync(file, content.subarray(0, at()));
  else if (kind === 'empty') writeFileSync(file, '');
  else if (kind === 'garbage') writeFileSync(file, Buffer.from(content.map(() => random.below(256))));
  else if (kind === 'nul') writeFileSync(file, Buffer.alloc(content.length + 4_096));
  else {
    for (let left = kind === 'bit' ? 1 : 32; left > 0; left--) flip(content, at(), random.below(8));
    writeFileSync(file, content);
  }
  utimesSync(file, atime, mtime);
}

function flip(content: Buffer, at: number, bit: number): void {
  content[at] = (content[at] ?? 0) ^ (1 << bit);
}
