/**
 * Realistic history: 10 to 100,000 Sessions as pi writes them, below a sessions directory, one after the other without
 * holding any of them. The same seed makes the same bytes, names and times.
 */
import {
  chownSync,
  closeSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type Random, randomOf } from '../faults/random.ts';
import { sessionText } from './session-writer.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const SMALLEST = 600;
/** Where a sandbox has its Sessions, as a fork's header says. */
const RECORDED_ROOT = '/home/pi/.pi/agent/sessions';
const LARGEST = 50 * 1024 * 1024;

/** What a Session file can have suffered, each as a share from 0 to 1. */
export interface Damage {
  /** The last line ends in its middle, as a killed writer leaves it. */
  torn: number;
  /** The first line is no header: a bit is wrong, or it is another file's content. */
  headless: number;
  /** Created and never written. */
  empty: number;
}

export interface HistoryOptions {
  seed: string;
  sessions: number;
  /** Ages count back from here. */
  now: Date;
  /** Working directories; by default some dozens with every kind of name. */
  directories?: readonly string[];
  /** Half of the Sessions are smaller; most of the bytes are in a few large ones. Default 20 KB: 100 KB a Session on average. */
  medianBytes?: number;
  largestBytes?: number;
  /** Half of the Sessions are younger. Default 30 days. */
  medianDays?: number;
  damage?: Partial<Damage>;
  /** Share of Sessions that lie in the sessions directory itself, as with a flat `--session-dir`. */
  flat?: number;
  /**
   * Share of Sessions whose file time does not tell their last change: copied just now, restored with an older time,
   * or dated a week ahead by a wrong clock.
   */
  misdated?: number;
  /** Also files and links that are no Sessions. */
  foreign?: boolean;
  owner?: { uid: number; gid: number };
}

export type GeneratedKind = 'whole' | keyof Damage;

export interface GeneratedSession {
  /** Below the sessions directory. */
  path: string;
  id: string;
  cwd: string;
  kind: GeneratedKind;
  size: number;
  /** What was written as the last entry's time. */
  ended: Date;
  /** The file's time as the file system has it, in nanoseconds. */
  modified: bigint;
  /** By pi's own name for it, if it has one. */
  name?: string;
}

/** Lossy twins (`/a-b` and `/a/b` share a folder), other scripts, blanks, quotes, a colon, nested projects. */
export const DIRECTORIES: readonly string[] = [
  '/home/me/w/a-b',
  '/home/me/w/a/b',
  '/home/me/w',
  '/home/me/w/a',
  '/home/me/größe/naïve été',
  '/home/me/日本語/プロジェクト',
  '/srv/x:y/c d',
  '/srv/x/y/c d',
  '/srv/it\'s "quoted", with $HOME',
  '/workspace',
  '/workspace/acme',
  `/home/me/${'long-name-'.repeat(12)}`,
  ...Array.from({ length: 30 }, (_, index) => `/home/me/projects/shop-${index}`),
];

/** pi's encoding, written anew: leading slash off, each of `/ \ :` a dash. */
export function folderOf(cwd: string): string {
  return `--${cwd.replace(/^\//, '').replace(/[/\\:]/g, '-')}--`;
}

export function* generateHistory(root: string, options: HistoryOptions): Generator<GeneratedSession> {
  const { sessions, seed, foreign = false } = options;
  const folders = new Set<string>();
  const random = randomOf(seed, 'history');
  const directories = options.directories ?? DIRECTORIES;
  let earlier: string | undefined;
  const give = (path: string): void => {
    if (options.owner) chownSync(path, options.owner.uid, options.owner.gid);
  };
  const folder = (path: string): void => {
    if (folders.has(path)) return;
    folders.add(path);
    mkdirSync(path, { recursive: true, mode: 0o755 });
    give(path);
  };
  folder(root);
  for (let number = 0; number < sessions; number++) {
    // A few directories have most of the history.
    const cwd = directories[Math.floor(directories.length * random.fraction() ** 2)] ?? '/';
    const session = plan(random, options, cwd, number);
    const path = join(root, session.path);
    folder(dirname(path));
    const parentSession = random.below(40) === 0 ? earlier : undefined;
    const written = writeSession(path, { ...session, ...(parentSession && { parentSession }) }, random);
    give(path);
    lutimesSync(path, written.modifiedMs / 1000, written.modifiedMs / 1000);
    earlier = join(RECORDED_ROOT, session.path);
    const { size, mtimeNs } = lstatSync(path, { bigint: true });
    const { id, kind, ended, name } = session;
    yield {
      path: session.path,
      id,
      cwd,
      kind,
      size: Number(size),
      ended,
      modified: mtimeNs,
      ...(name === undefined ? {} : { name }),
    };
  }
  if (foreign) addForeignFiles(root, [...folders].filter((path) => path !== root)[0] ?? root);
}

interface Planned {
  path: string;
  id: string;
  cwd: string;
  kind: GeneratedKind;
  size: number;
  started: Date;
  ended: Date;
  modifiedMs: number;
  name?: string;
  parentSession?: string;
}

function plan(random: Random, options: HistoryOptions, cwd: string, number: number): Planned {
  const { now, medianBytes = 20_000, largestBytes = LARGEST, medianDays = 30, flat = 0 } = options;
  const size = Math.min(
    largestBytes,
    Math.max(SMALLEST, Math.round(medianBytes * Math.exp(1.8 * normal(random)))),
  );
  const age = -Math.log(1 - random.fraction()) * (medianDays / Math.LN2) * DAY_MS;
  // To the millisecond, so that the entry tells the same time.
  const ended = new Date(Math.floor(now.getTime() - age));
  const started = new Date(ended.getTime() - random.below(3 * 60 * 60 * 1000));
  const id = random.below(50) === 0 ? `named-${number}.${random.below(1e6)}` : uuid7(started, random);
  const file = `${started.toISOString().replace(/[:.]/g, '-')}_${id}.jsonl`;
  const kind = kindOf(random, options.damage ?? {});
  return {
    path: random.fraction() < flat ? file : join(folderOf(cwd), file),
    id,
    cwd,
    kind,
    size,
    started,
    ended,
    modifiedMs: modifiedOf(random, ended, options),
    ...(random.below(3) === 0 ? { name: `Übung ${number}: "fix\tit" ${random.below(1000)}` } : {}),
  };
}

function kindOf(random: Random, { torn = 0, headless = 0, empty = 0 }: Partial<Damage>): GeneratedKind {
  const at = random.fraction();
  if (at < torn) return 'torn';
  if (at < torn + headless) return 'headless';
  return at < torn + headless + empty ? 'empty' : 'whole';
}

/** pi's append is some microseconds after the entry's time; nanoseconds must survive too. */
function modifiedOf(random: Random, ended: Date, { now, misdated = 0 }: HistoryOptions): number {
  const honest = ended.getTime() + random.fraction();
  if (random.fraction() >= misdated) return honest;
  const kind = random.below(3);
  if (kind === 0) return now.getTime() - random.fraction() * 1000;
  if (kind === 1) return honest - 90 * DAY_MS;
  return now.getTime() + 7 * DAY_MS + random.fraction();
}

function writeSession(path: string, session: Planned, random: Random): { modifiedMs: number } {
  const descriptor = openSync(path, 'wx', 0o644);
  let written = 0;
  let lastPiece = '';
  try {
    if (session.kind !== 'empty') {
      for (const piece of sessionText(session, random)) {
        const text = written === 0 && session.kind === 'headless' ? damagedHeader(piece, random) : piece;
        writeSync(descriptor, text);
        written += Buffer.byteLength(text);
        lastPiece = text;
      }
    }
  } finally {
    closeSync(descriptor);
  }
  if (session.kind === 'torn') {
    const lastLine = lastPiece.slice(lastPiece.lastIndexOf('\n', lastPiece.length - 2) + 1);
    // Without its newline alone it would be whole; without any byte it would not be there.
    truncateSync(path, written - 2 - random.below(Math.max(1, Buffer.byteLength(lastLine) - 4)));
  }
  return session;
}

function damagedHeader(piece: string, random: Random): string {
  const end = piece.indexOf('\n');
  const kind = random.below(3);
  if (kind === 0) return `${piece.slice(0, end >> 1)}${piece.slice(end)}`;
  if (kind === 1) return `not a Session${piece.slice(end)}`;
  return piece.replace('"type":"session"', '"type":"sessiom"');
}

/** What users, tools and hostile programs leave in such a directory. */
function addForeignFiles(root: string, folder: string): void {
  writeFileSync(join(root, 'README.txt'), 'mine\n');
  writeFileSync(join(folder, 'notes.md'), '# notes\n');
  writeFileSync(join(folder, '.hidden.jsonl.swp'), 'x');
  writeFileSync(join(folder, 'other.jsonl'), '{"type":"other"}\n');
  mkdirSync(join(root, 'empty folder'), { recursive: true });
  mkdirSync(join(folder, 'nested.jsonl'), { recursive: true });
  for (const [target, path] of [
    ['/etc', join(root, '--etc--')],
    ['/etc/passwd', join(folder, 'passwd.jsonl')],
    ['nowhere', join(folder, 'dangling.jsonl')],
  ] as const) {
    rmSync(path, { force: true });
    symlinkSync(target, path);
  }
}

function uuid7(time: Date, random: Random): string {
  const stamp = time.getTime().toString(16).padStart(12, '0');
  const part = (digits: number): string =>
    random
      .below(16 ** Math.min(digits, 8))
      .toString(16)
      .padStart(digits, '0');
  return `${stamp.slice(0, 8)}-${stamp.slice(8)}-7${part(3)}-8${part(3)}-${part(4)}${part(8)}`;
}

/** Box and Muller's way to a normal distribution. */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.fraction())) * Math.cos(2 * Math.PI * random.fraction());
}
