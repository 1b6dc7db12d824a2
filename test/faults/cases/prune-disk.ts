import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expectThat } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import type { FaultPlan } from '../history/broken-fs.ts';
import { type Result, runJob, runWhole } from '../history/child.ts';
import type { Job } from '../history/driver.ts';
import { NOW, type Scene } from '../history/scene.ts';
import type { HistoryWorld } from '../history/world.ts';
import { jobOf, prunedBefore } from './prune-killed.ts';

const ROOT = process.getuid?.() === 0;
/** Anybody but root, whom no file mode stops. */
const NOBODY = 65_534;

export const pruneFailingCalls: FaultCase<HistoryWorld> = {
  name: 'prune-io-errors',
  about:
    'one call to the file system fails (EIO, ENOSPC, EACCES): said in words or survived, and the next prune works',
  tries: { usual: 300, few: 4 },
  async attempt(world, random, note) {
    const { scene, work } = await prunedBefore(world, random, note);
    const restoring = random.below(4) === 0;
    const retention = { days: 7, trashDays: 30 };
    if (restoring) scene.promises.times = false;
    const job = restoring ? jobOf(scene, { verb: 'restore-all', retention }) : jobOf(scene, work);
    const of = random.pick(['changes', 'all']);
    const at = 1 + random.below(of === 'changes' ? 90 : 300);
    const plan: FaultPlan = { at, of, fault: random.pick(['EIO', 'ENOSPC', 'EACCES']) };
    note(`${job.work.verb}: ${plan.fault} at call ${plan.at} of ${plan.of}`);
    expectSaid(await runJob({ ...job, plan }));
    await runWhole(jobOf(scene, work));
    // What was restored has a new age, so that the next prune leaves it where it is.
    if (work.verb === 'prune' && !restoring) scene.promises.settled = { now: NOW, days: work.retention.days };
  },
};

/** It works, perhaps with a problem in its report, or fails with an error of ours. */
export function expectSaid({ end, failure, said }: Result): void {
  expectThat(end === 0 || end === 1, `it ended with ${end}: ${said}`);
  if (end === 0) return;
  const ours =
    /Error$/.test(failure?.name ?? '') && !/^(Type|Range|Reference|Syntax)?Error$/.test(failure?.name ?? '');
  expectThat(ours, `it failed with a fault of its own: ${said}`);
}

export const pruneFullDisk: FaultCase<HistoryWorld> = {
  name: 'prune-full-disk',
  about:
    'a sessions volume without room: what can be moved is, nothing is torn, and with room the next prune works',
  tries: { usual: 60, few: 2 },
  async attempt(world, random, note) {
    const disk = mountSmall(world, 2_048);
    const { scene, work } = await prunedBefore(
      world,
      random,
      note,
      disk === undefined ? undefined : join(disk, 'sessions'),
    );
    if (disk === undefined) return note('no small file system can be mounted here');
    const { bavail, bsize } = statfsSync(disk);
    const room = random.pick([0, 0, 1, 2]) * 4_096;
    note(`${room} bytes left`);
    writeFileSync(join(disk, 'filler'), Buffer.alloc(Math.max(0, bavail * bsize - room)));
    const retention = { days: 7, trashDays: 30 };
    expectSaid(await runJob(jobOf(scene, work)));
    if (random.below(2) === 0) {
      scene.promises.times = false;
      expectSaid(await runJob(jobOf(scene, { verb: 'restore-all', retention })));
    }
    rmSync(join(disk, 'filler'));
    await runWhole(jobOf(scene, work));
  },
};

/** A memory file system for this try; undefined where none can be mounted. */
export function mountSmall(world: HistoryWorld, kibibytes: number): string | undefined {
  const directory = join(world.directory, `disk-${Math.random().toString(36).slice(2)}`);
  mkdirSync(directory);
  try {
    const options = `size=${kibibytes}k`;
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', directory], { stdio: 'pipe' });
  } catch {
    return undefined;
  }
  world.atEnd(() => void execFileSync('umount', ['-l', directory]));
  return directory;
}

/** Each takes rights from somebody who is not root. */
const RIGHTS: Record<string, (scene: Scene, folder: string) => void> = {
  'an unreadable folder': (_, folder) => {
    chmodSync(folder, 0);
  },
  'a folder that cannot be written': (_, folder) => chmodSync(folder, 0o555),
  "another user's folder": (_, folder) => {
    chownSync(folder, 0, 0);
    chmodSync(folder, 0o700);
  },
  'unreadable files': (_, folder) => {
    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0);
  },
  'an unwritable top': ({ sessions }) => chmodSync(sessions, 0o555),
  'an unreadable trash': ({ sessions }) => chmodSync(join(sessions, '.trash'), 0),
};

export const pruneRights: FaultCase<HistoryWorld> = {
  name: 'prune-rights',
  about:
    'folders and files that the user may not read or write, or a read-only mount: they stay, and are told of',
  tries: { usual: 60, few: 3 },
  async attempt(world, random, note) {
    const owner = { uid: NOBODY, gid: NOBODY };
    const scene = world.scene(random, ROOT ? { owner, foreign: false } : { foreign: false });
    const user = ROOT ? { user: NOBODY } : {};
    chmodSync(world.directory, 0o755);
    chmodSync(scene.directory, 0o755);
    const retention = { days: 7, trashDays: 7 };
    const job: Job = { ...jobOf(scene, { verb: 'prune', retention }), ...user };
    mkdirSync(join(scene.sessions, '.trash'), { mode: 0o700 });
    if (ROOT) chownSync(join(scene.sessions, '.trash'), NOBODY, NOBODY);
    const folders = readdirSync(scene.sessions).filter((name) => name.startsWith('--'));
    const folder = join(scene.sessions, folders[random.below(folders.length)] ?? '');
    const names = Object.keys(RIGHTS);
    const kind = random.below(5) === 0 && ROOT ? 'read-only' : (names[random.below(names.length)] ?? '');
    note(kind);
    if (kind === 'read-only') readOnly(world, scene);
    else RIGHTS[kind]?.(scene, folder);
    expectSaid(await runJob(job));
    expectSaid(await runJob({ ...job, work: { verb: 'list', retention } }));
  },
};

function readOnly(world: HistoryWorld, scene: Scene): void {
  execFileSync('mount', ['--bind', scene.sessions, scene.sessions]);
  world.atEnd(() => void execFileSync('umount', ['-l', scene.sessions]));
  execFileSync('mount', ['-o', 'remount,bind,ro', scene.sessions]);
}
