/**
 * Work roots of every kind of run, and what must be true of one after the last prune. It shares no code with the room:
 * its own writing and reading of what src/work/README.md says of the disk, its own walk.
 */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from '../../../src/lib/kernel-lock.ts';
import { look, type Seen } from '../history/census.ts';
import type { Random } from '../random.ts';
import { logOf } from './checker.ts';
import type { Findings, WorkWorld } from './world.ts';

const DAY_MS = 86_400_000;
export const NOW = new Date('2026-12-01T12:00:00.000Z');
const RETENTION_DAYS = 30;
/** Of the room's own in a tenant that is at rest. */
const STAMP = '.pi-work-pruned';

/** `either`: it was damaged, and nobody can say what is right. */
type Fate = 'goes' | 'stays' | 'either';

interface KnownRun {
  /** Below the root. */
  readonly place: string;
  fate: Fate;
}

export interface WorkScene {
  readonly root: string;
  readonly outside: string;
  readonly runs: readonly KnownRun[];
  path(run: KnownRun, ...below: string[]): string;
  /** From now on what is there is what must stay. */
  remember(): void;
  check(): Findings;
}

export function makeWorkScene(world: WorkWorld, random: Random, into = world.directory): WorkScene {
  const top = mkdtempSync(join(into, 'scene-'));
  world.atEnd(() => rmSync(top, { recursive: true, force: true }));
  const [root, outside] = [join(top, 'work'), join(top, 'outside')];
  for (const path of [root, outside]) mkdirSync(path);
  writeFileSync(join(outside, 'kept'), 'x');
  const runs: KnownRun[] = [];
  for (const tenant of ['shop', 'blog'].slice(0, 1 + random.below(2))) {
    for (let n = 1 + random.below(6); n > 0; n--) {
      const place = `jobs/${tenant}/r${n}`;
      runs.push({ place, fate: makeRun(world, random, root, place, outside) });
    }
  }
  let before = look(root);
  const canary = look(outside);
  return {
    root,
    outside,
    runs,
    path: (run, ...below) => join(root, run.place, ...below),
    remember() {
      before = look(root);
    },
    check: () => judge(root, runs, before, differences(canary, look(outside))),
  };
}

function makeRun(world: WorkWorld, random: Random, root: string, place: string, outside: string): Fate {
  const path = join(root, place);
  mkdirSync(join(path, '.leases'), { recursive: true });
  const [category, tenant, runId] = place.split('/');
  const days = random.pick([0, 10, 29, 31, 90]);
  const lastUse = new Date(NOW.getTime() - days * DAY_MS);
  for (let n = random.below(4); n > 0; n--) fill(random, join(path, `f${n}`), outside);
  const kind = random.pick(['free', 'free', 'free', 'held', 'dead', 'foreign', 'lying']);
  const manifest = {
    version: 1,
    category,
    tenant,
    runId: kind === 'lying' ? 'other' : runId,
    createdAt: lastUse.toISOString(),
  };
  writeFileSync(join(path, '.pi-work-run.json'), `${JSON.stringify(manifest)}\n`);
  const marker = join(path, '.leases', `${String(random.below(1e9)).padStart(32, '0')}.lease`);
  // As a process with this number would have left it.
  const record = { pid: process.pid, host: 'here', startedAt: lastUse.toISOString(), what: 'a try' };
  if (kind === 'held') {
    const lock = tryLock(marker, { record });
    world.atEnd(() => lock?.release());
  } else if (kind === 'dead') writeFileSync(marker, `${JSON.stringify(record)}\n`);
  else if (kind === 'foreign') writeFileSync(join(path, '.leases', 'theirs'), '');
  utimesSync(join(path, '.pi-work-run.json'), lastUse, lastUse);
  if (kind === 'held' || kind === 'foreign' || kind === 'lying') return 'stays';
  return days > RETENTION_DAYS ? 'goes' : 'stays';
}

function fill(random: Random, path: string, outside: string): void {
  switch (random.below(4)) {
    case 0:
      symlinkSync(random.pick([outside, join(outside, 'kept'), 'nowhere']), path);
      break;
    case 1:
      mkdirSync(join(path, 'd/e'), { recursive: true });
      writeFileSync(join(path, 'd/e/f'), 'x'.repeat(random.below(9_000)));
      break;
    default:
      writeFileSync(path, 'x'.repeat(random.below(9_000)));
  }
}

function judge(
  root: string,
  runs: readonly KnownRun[],
  before: readonly Seen[],
  outside: string[],
): Findings {
  const findings: Findings = { lost: [], kept: [], 'left over': [], outside, unlogged: [] };
  const after = look(root);
  const logged = logOf(join(root, '.pi-work'));
  for (const { place, fate } of runs) {
    const [was, is] = [contentOf(before, place), contentOf(after, place)];
    const isGone = is.length === 0;
    if (fate === 'goes' && !isGone) findings.kept.push(place);
    if (fate !== 'stays' && isGone && !logged.has(place)) findings.unlogged.push(place);
    if (fate === 'stays') findings.lost.push(...was.filter((line) => !is.includes(line)));
  }
  const known = new Set(runs.map(({ place }) => place));
  for (const { path } of after) {
    const [first = '', , third] = path.split('/');
    if (first === '.pi-work' || third === undefined) continue;
    const run = path.split('/').slice(0, 3).join('/');
    // What a try acquires is called so.
    if (!known.has(run) && third !== STAMP && run !== 'jobs/made/named') findings['left over'].push(path);
  }
  return findings;
}

/** Times change when a run is seen to be held, so they are left out. */
function contentOf(seen: readonly Seen[], place: string): string[] {
  return seen
    .filter(({ path }) => path === place || path.startsWith(`${place}/`))
    .map(({ path, kind, content }) => `${path} ${kind} ${content}`);
}

function differences(before: readonly Seen[], after: readonly Seen[]): string[] {
  const text = ({ path, kind, content, modified }: Seen): string =>
    `${path} ${kind} ${content} ${kind === 'file' ? modified : ''}`;
  const [was, is] = [new Set(before.map(text)), new Set(after.map(text))];
  return [
    ...[...was].filter((line) => !is.has(line)).map((line) => `gone: ${line}`),
    ...[...is].filter((line) => !was.has(line)).map((line) => `new: ${line}`),
  ];
}
