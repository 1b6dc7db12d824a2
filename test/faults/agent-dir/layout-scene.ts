/**
 * Agent directories of an older layout, and what must be true of one that was migrated. It shares no code with the
 * migration: its own list of what moves where, its own walk, and files are told by their content, which is each file's own.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { look, type Seen } from '../history/census.ts';
import type { Random } from '../random.ts';
import type { AgentDirWorld, Findings } from './world.ts';

export interface LayoutScene {
  readonly agentDir: string;
  /** `state/` is on another file system. */
  readonly twoDisks: boolean;
  check(): Findings;
}

/** Roots of the older layout, with the place of what was in them. */
const PLACES: Readonly<Record<string, string>> = {
  backups: 'state/backups/config',
  'resource-profiles': 'profiles/directories',
  'auto-learn': 'state/legacy-layout/auto-learn',
  tmp: 'state/legacy-layout/tmp',
};
const SIDECAR = 'auth.json:Zone.Identifier';
const OTHERS = [
  'auth.json',
  'trust.json',
  'sessions/--p--/1.jsonl',
  'mine/notes',
  'tmp/extensions/x/index.js',
];

export function makeLayoutScene(world: AgentDirWorld, random: Random): LayoutScene {
  const agentDir = mkdtempSync(join(world.directory, 'agent-'));
  world.atEnd(() => rmSync(agentDir, { recursive: true, force: true }));
  const twoDisks = process.getuid?.() === 0 && random.fraction() < 0.4;
  if (twoDisks) {
    const state = join(agentDir, 'state');
    mkdirSync(state);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', state]);
    world.atEnd(() => execFileSync('umount', [state]));
  }
  let count = 0;
  const write = (path: string): void => {
    const place = join(agentDir, path);
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, `${path}\n`.repeat(1 + random.below(200)) + count++);
  };
  for (const path of OTHERS.filter(() => random.fraction() < 0.7)) write(path);
  for (const [root, place] of Object.entries(PLACES)) {
    if (random.fraction() < 0.3) continue;
    for (let n = random.below(6); n > 0; n--)
      write(`${root}/${random.pick(['', 'd/', 'd/e/'])}${random.below(8)}`);
    if (random.fraction() < 0.3) {
      mkdirSync(join(agentDir, root), { recursive: true });
      symlinkSync('../auth.json', join(agentDir, root, 'a-link'));
    }
    // What collides.
    if (random.fraction() < 0.5) for (let n = 0; n < 3; n++) write(`${place}/${random.below(8)}.taken`);
    if (random.fraction() < 0.5) for (let n = 0; n < 3; n++) writeNew(`${place}/${random.below(8)}`);
    if (random.fraction() < 0.2) writeNew(`state/migration-conflicts/${root}/${random.below(8)}`);
  }
  if (random.fraction() < 0.6) write(SIDECAR);
  if (random.fraction() < 0.3) writeNew(`state/legacy-layout/${SIDECAR}`);
  const before = look(agentDir);
  return { agentDir, twoDisks, check: () => judge(before, look(agentDir), twoDisks) };

  /** Not where something else stands already. */
  function writeNew(path: string): void {
    try {
      write(path);
    } catch {
      // A file where a directory should be: then there is one collision less.
    }
  }
}

function judge(before: readonly Seen[], after: readonly Seen[], twoDisks: boolean): Findings {
  const findings: Findings = { lost: [], twice: [], 'moved wrongly': [], 'left over': [] };
  const files = (seen: readonly Seen[]) => seen.filter(({ kind }) => kind === 'file' || kind === 'link');
  const now = new Map<string, string[]>();
  for (const { kind, content, path } of files(after)) {
    if (isLock(path)) continue;
    now.set(`${kind} ${content}`, [...(now.get(`${kind} ${content}`) ?? []), path]);
  }
  for (const { kind, content, path } of files(before)) {
    const places = now.get(`${kind} ${content}`) ?? [];
    if (kind === 'link') {
      // All links lead to one place, so they are told by where they are.
      if (!places.includes(path) && !places.includes(newPlace(path))) findings.lost.push(`the link ${path}`);
      continue;
    }
    if (places.length === 0) findings.lost.push(path);
    else if (places.length > 1) findings.twice.push(`${path}: ${places.join(', ')}`);
    else if (!mayBeAt(path, places[0] ?? '')) findings['moved wrongly'].push(`${path} -> ${places[0]}`);
  }
  const known = new Set(files(before).map(({ kind, content }) => `${kind} ${content}`));
  for (const { kind, content, path } of files(after)) {
    if (!isLock(path) && !known.has(`${kind} ${content}`)) findings['left over'].push(path);
  }
  findings['left over'].push(...stillThere(after, twoDisks));
  return findings;
}

function isLock(path: string): boolean {
  return path === '.setup.lock' || path === '.live.lock';
}

/** Where an entry of an older layout goes; where anything else is, it stays. */
function newPlace(path: string): string {
  if (path.startsWith('tmp/extensions/')) return path;
  if (path === SIDECAR) return `state/legacy-layout/${SIDECAR}`;
  const [root = '', ...rest] = path.split('/');
  const place = PLACES[root];
  return place === undefined || rest.length === 0 ? path : [place, ...rest].join('/');
}

function mayBeAt(path: string, found: string): boolean {
  const place = newPlace(path);
  if (found === place) return true;
  if (place === path) return false;
  // Kept beside, perhaps under a number, whole with what was in it.
  const [root = '', entry = '', ...rest] = path.split('/');
  const kept =
    path === SIDECAR ? `state/migration-conflicts/${SIDECAR}` : `state/migration-conflicts/${root}/${entry}`;
  const tail = rest.map((name) => `/${name}`).join('');
  const numbered =
    found.startsWith(kept) && found.endsWith(tail)
      ? found.slice(kept.length, found.length - tail.length)
      : 'x';
  return /^(?:\.\d+)?$/.test(numbered) || holdsLink(path, found);
}

/** Between two disks a tree with a link in it stays where it is. */
function holdsLink(path: string, found: string): boolean {
  return path === found && path.split('/').length > 2;
}

/** Nothing of an older layout is at the root any more but links, what a link keeps, and pi's own. */
function stillThere(after: readonly Seen[], twoDisks: boolean): string[] {
  return after
    .filter(({ kind, path }) => kind === 'file' && newPlace(path) !== path)
    .filter(({ path }) => !(twoDisks && hasLinkBeside(after, path)))
    .map(({ path }) => path);
}

function hasLinkBeside(after: readonly Seen[], path: string): boolean {
  const tree = path.split('/').slice(0, 2).join('/');
  return after.some((seen) => seen.kind === 'link' && seen.path.startsWith(`${tree}/`));
}
