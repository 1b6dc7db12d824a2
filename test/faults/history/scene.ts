/** One try's own history: a sessions directory, its locks, and beside it what no prune has any business with. */
import { chownSync, lutimesSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type GeneratedSession,
  generateHistory,
  type HistoryOptions,
} from '../../setup/history-generator.ts';
import type { Random } from '../random.ts';
import { look, type Seen } from './census.ts';

export const DAY_MS = 24 * 60 * 60 * 1000;
export const NOW = new Date('2026-11-30T12:00:00.000Z');

/** What it was made as, and the bytes that were written. */
export type KnownSession = GeneratedSession & { content: string };

/** What the checker holds a try to; a case widens it where its fault allows more. */
export interface Promises {
  /** File times are as they were. Of what was restored they are not: its age starts anew. */
  times: boolean;
  /** Sessions that may have been deleted for good, if the log says so. */
  mayBeGone: ReadonlySet<string>;
  /** Each deletion is in the log; not so when the log itself was the victim. */
  logged: boolean;
  /** By file name: what was added behind the known content, and must be there. */
  appended: Map<string, string[]>;
  /** The last prune worked: with this clock and these days everything is where it belongs. */
  settled?: { now: Date; days: number } | undefined;
}

export interface Scene {
  directory: string;
  sessions: string;
  locks: string;
  outside: string;
  /** By file name. */
  known: Map<string, KnownSession>;
  /** What was below `sessions` and is no Session: stays as it is. */
  strange: Seen[];
  /** What lay outside. */
  canary: Seen[];
  promises: Promises;
}

export type SceneOptions = Partial<HistoryOptions> & { into?: string };

/** Small enough to be made in a moment; `into` is an empty directory of the case's own. */
export function makeScene(parent: string, random: Random, { into, ...options }: SceneOptions = {}): Scene {
  const directory = mkdtempSync(join(parent, 'try-'));
  const sessions = into ?? join(directory, 'sessions');
  const locks = join(directory, 'locks');
  const outside = join(directory, 'outside');
  mkdirSync(locks, { mode: 0o700 });
  makeOutside(outside);
  const damage = { torn: 0.05, headless: 0.05, empty: 0.05 };
  const history: HistoryOptions = {
    seed: String(random.fraction()),
    sessions: 24,
    now: NOW,
    medianBytes: 1_500,
    largestBytes: 60_000,
    damage,
    misdated: 0.15,
    flat: 0.1,
    foreign: random.below(2) === 0,
    ...options,
  };
  const generated = new Map([...generateHistory(sessions, history)].map((one) => [one.path, one]));
  if (options.owner) {
    for (const path of [directory, locks]) chownSync(path, options.owner.uid, options.owner.gid);
  }
  const scene: Scene = {
    directory,
    sessions,
    locks,
    outside,
    known: new Map(),
    strange: [],
    canary: look(outside),
    promises: { times: true, mayBeGone: new Set(), logged: true, appended: new Map() },
  };
  for (const seen of look(sessions)) {
    const session = generated.get(seen.path);
    if (session !== undefined) scene.known.set(nameOf(seen.path), { ...session, content: seen.content });
    else if (seen.kind !== 'directory') scene.strange.push(seen);
  }
  return scene;
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Old enough that a prune which strays here would take it. */
function makeOutside(outside: string): void {
  const folder = join(outside, 'sessions', '--home-me-old--');
  mkdirSync(folder, { recursive: true });
  const name = '2020-01-01T00-00-00-000Z_outside';
  const header =
    '{"type":"session","version":3,"id":"outside","timestamp":"2020-01-01T00:00:00.000Z","cwd":"/"}\n';
  mkdirSync(join(outside, '.trash', '2020-01-01', '--home-me-old--'), { recursive: true });
  const files = [
    ['auth.json', '{"secret":true}'],
    ['settings.json', '{}'],
    [`${name}.jsonl`, header],
    [`sessions/--home-me-old--/${name}.jsonl`, header],
    [`.trash/2020-01-01/--home-me-old--/${name}.jsonl.trashed`, header],
  ] as const;
  for (const [path, content] of files) {
    writeFileSync(join(outside, path), content);
    lutimesSync(join(outside, path), 1_577_836_800, 1_577_836_800);
  }
}

/** By what the file says of itself; undefined where damage leaves room for opinions. */
export function isExpired(session: KnownSession, now: Date, days: number): boolean | undefined {
  if (session.kind !== 'whole') return session.kind === 'torn' ? undefined : false;
  if (days === 0) return false;
  const modified = Number(session.modified / 1_000_000n);
  const changed = Math.min(Math.max(modified, session.ended.getTime()), now.getTime());
  const age = now.getTime() - changed - days * DAY_MS;
  // A prune runs for a while, by a clock that goes on.
  return Math.abs(age) < 5 * 60_000 ? undefined : age > 0;
}

export function removeScene(scene: Scene): void {
  rmSync(scene.directory, { recursive: true, force: true });
}
