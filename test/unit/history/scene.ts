/** A domain's history on a real file system, with Sessions in pi's format. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { onTestFinished } from 'vitest';
import type { History, PruneOptions, Retention } from '../../../src/history/index.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { trySessionLock } from '../../../src/pi/index.ts';

export const NOW = new Date('2026-12-01T12:00:00.000Z');
export const TODAY = '2026-12-01';
export const RETENTION: Retention = { days: 30, trashDays: 7 };

export function daysAgo(days: number, from = NOW): Date {
  return new Date(from.getTime() - days * 86_400_000);
}

export function clockAt(date: Date): Clock {
  return { now: () => date, monotonic: () => performance.now(), sleep: async () => undefined };
}

export interface SessionOptions {
  id?: string;
  cwd?: string;
  /** Days ago; the last entry's default is the same. */
  mtime?: number;
  lastEntry?: number;
  /** In place of header and entries. */
  content?: string | Buffer;
  name?: string;
  /** Appended as it is. */
  tail?: string;
}

export function sessionText({
  id = 's-1',
  cwd = '/p',
  lastEntry = 0,
  name,
  tail = '',
}: SessionOptions): string {
  const at = (offset: number): string => new Date(daysAgo(lastEntry).getTime() - offset).toISOString();
  const lines = [
    { type: 'session', version: 3, id, timestamp: at(2_000), cwd },
    ...(name === undefined
      ? []
      : [{ type: 'session_info', id: 'a0', parentId: null, timestamp: at(1_000), name }]),
    {
      type: 'message',
      id: 'a1',
      parentId: null,
      timestamp: at(0),
      message: { role: 'user', content: [{ type: 'text', text: `hello from ${id}` }], timestamp: 1 },
    },
  ];
  return `${lines.map((line) => JSON.stringify(line)).join('\n')}\n${tail}`;
}

export interface Scene {
  history: History;
  root: string;
  /** Writes a Session at a path below the sessions directory; gives its content. */
  session(file: string, options?: SessionOptions): string;
  /** Holds the Session's lock, as an open pi does, until released. */
  open(id: string, file: string): () => void;
  options(more?: Partial<PruneOptions>): PruneOptions;
  /** Every regular file below the sessions directory but the room's own, with its content. */
  files(): Record<string, string>;
  has(file: string): boolean;
}

export function makeScene(base = tmpdir()): Scene {
  const top = mkdtempSync(join(base, 'history-'));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  const [root, locks] = [join(top, 'sessions'), join(top, 'locks')];
  mkdirSync(root);
  const history = { sessions: root, locks };
  return {
    history,
    root,
    session(file, options = {}) {
      const { mtime = 0, lastEntry = mtime, content } = options;
      const path = join(root, file);
      const id = options.id ?? file.replace(/^.*\//, '').replace(/\.jsonl.*$/, '');
      const text = content ?? sessionText({ ...options, id, lastEntry });
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
      utimesSync(path, daysAgo(mtime), daysAgo(mtime));
      return text.toString();
    },
    open(id, file) {
      const holder = { pid: 1, host: 'test', startedAt: NOW.toISOString() };
      const attempt = trySessionLock(locks, { id, file: join(root, file) }, holder);
      if (!('lock' in attempt)) throw new Error(`${id} is taken`);
      onTestFinished(() => attempt.lock.release());
      return () => attempt.lock.release();
    },
    options: (more = {}) => ({ retention: RETENTION, clock: clockAt(NOW), ...more }),
    files: () => filesBelow(root),
    has: (file) => existsSync(join(root, file)),
  };
}

export function filesBelow(root: string): Record<string, string> {
  const files: Record<string, string> = {};
  const walk = (directory: string): void => {
    for (const name of readdirSync(directory)) {
      const path = join(directory, name);
      if (name === '.history') continue;
      const stats = lstatSync(path);
      if (stats.isDirectory()) walk(path);
      else if (stats.isFile()) files[relative(root, path)] = readFileSync(path, 'latin1');
    }
  };
  walk(root);
  return files;
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
