import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { FaultCase } from '../fault-case.ts';
import { saysInWords, watch } from '../jobs/aftermath.ts';
import { sessionIn } from '../jobs/checker.ts';
import { doDeed, promptOf, RUNS } from '../jobs/deeds.ts';
import { makeJobScene, OLD } from '../jobs/scene.ts';
import type { JobsWorld } from '../jobs/world.ts';
import type { Random } from '../random.ts';

const RECORD = 'job.json';
const FILES = [
  ...([
    RECORD,
    RECORD,
    'prompt.txt',
    'append-prompt.md',
    'status',
    'lock',
    'started_at',
    'ended_at',
  ] as const),
  ...(['runs', 'exit_code', 'output.txt', 'model', 'reason', 'progress.log', 'usage.json'] as const),
] as const;

export const jobDamaged: FaultCase<JobsWorld> = {
  name: 'job-damaged-state',
  about:
    'files of a job cut, bit-flipped, emptied, filled or removed: the list goes on, other jobs are as they were, the next run works or is refused in words',
  tries: { usual: 200, few: 2 },
  async attempt(world, random, note) {
    const scene = makeJobScene(world);
    const names = new Set(Array.from({ length: 1 + random.below(3) }, () => random.pick([RECORD, ...FILES])));
    for (const name of names) note(`${name} ${damage(random, join(scene.jobs, OLD.name, name))}`);
    const watched = watch(world, scene);
    saysInWords(await scene.call(['status', OLD.name]), 'status');
    saysInWords(await scene.call(['usage', OLD.name]), 'usage');
    await watched.finish({ damaged: names.has(RECORD) ? [OLD.name] : [] });
  },
};

function damage(random: Random, path: string): string {
  const content = readFileSync(path);
  const session = sessionIn(content.toString());
  const how = random.pick(['cut', 'flipped', 'emptied', 'filled', 'removed']);
  if (how === 'removed') rmSync(path);
  else if (how === 'emptied') truncateSync(path);
  else if (how === 'filled') writeFileSync(path, 'x'.repeat(1 + random.below(300_000)));
  else if (how === 'cut') truncateSync(path, random.below(content.length + 1));
  else {
    const flip = (at: number, bit: number): void => {
      content[at] = (content[at] ?? 0) ^ (1 << bit);
    };
    for (let tries = 0; tries < 100 && content.length > 0; tries++) {
      const [at, bit] = [random.below(content.length), random.below(8)];
      flip(at, bit);
      const is = sessionIn(content.toString());
      // A record that is whole and names another conversation would have it written anywhere on this machine.
      if (is === undefined || is === session) break;
      flip(at, bit);
    }
    writeFileSync(path, content);
  }
  return how;
}

const PAGE = Buffer.alloc(4_096);

export const jobFullDisk: FaultCase<JobsWorld> = {
  name: 'job-full-disk',
  about:
    'little or no room for the state of jobs: said in words, never told as done, and with room the next run works',
  tries: { usual: 60, few: 1 },
  async attempt(world, random, note) {
    if (process.getuid?.() !== 0) {
      note('only root can mount a small file system');
      world.inspect(() => ({
        lost: [],
        untrue: [],
        processes: [],
        sockets: [],
        'left over': [],
        outside: [],
      }));
      return;
    }
    const disk = mkdtempSync(join(world.directory, 'disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]);
    world.atEnd(() => execFileSync('umount', [disk]));
    const scene = makeJobScene(world, { state: disk });
    const ballast = join(disk, 'ballast');
    writeFileSync(ballast, '');
    try {
      for (let pages = 0; pages < 256; pages++) appendFileSync(ballast, PAGE);
    } catch {
      // Full now.
    }
    const room = random.below(30);
    truncateSync(ballast, Math.max(0, statSync(ballast).size - room * PAGE.length));
    const [deed, prompt] = [random.pick(RUNS), promptOf(random)];
    note(`${deed.name} "${prompt}" with ${room} pages`);
    const watched = watch(world, scene);
    await doDeed(scene, deed, prompt, watched);
    await watched.settle();
    rmSync(ballast);
    await watched.finish();
  },
};
