/** A shared volume with old history and the sessions directories of some domains, and a checker of its own. */
import {
  chownSync,
  closeSync,
  existsSync,
  futimesSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  LEGACY_SEAL,
  type MigrationOptions,
  type MigrationReport,
  migrateLegacy,
} from '../../../src/history/index.ts';
import type { DomainTable } from '../../../src/wire/index.ts';

export const ROOT = process.getuid?.() === 0;
const SELF = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
/** Only root can give files away. */
export const SEAL = ROOT ? LEGACY_SEAL : SELF;
export const USER = ROOT ? { uid: 1000, gid: 1000 } : SELF;

/** A moment with nanoseconds that no floating point number of seconds has. */
const FIRST_MTIME = 1_760_000_000.123_456_7;

export interface Old {
  id: string;
  cwd?: string | undefined;
  folder?: string | undefined;
  name?: string;
  content?: string | Buffer;
}

export interface Kept {
  content: Buffer;
  mtimeNs: bigint;
}

export interface LegacyScene {
  directory: string;
  sharedRoot: string;
  /** Where the old history is. */
  store: string;
  domain(name: string): string;
  /** Writes an old Session; gives its path below the store. */
  write(old: Old): string;
  migrate(
    options: Partial<MigrationOptions> & { table: DomainTable },
    ...domains: string[]
  ): Promise<MigrationReport>;
  /** Paths below the directory of every `.jsonl` file, sorted. */
  sessions(root: string): string[];
}

export const tableOf = (
  rules: Record<string, string | null>,
  fallback: string | null = null,
): DomainTable => ({
  rules: Object.entries(rules).map(([path, domain]) => ({ path, domain })),
  fallback,
});

export function legacyScene(directory = mkdtempSync(join(tmpdir(), 'legacy-'))): LegacyScene {
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const sharedRoot = join(directory, 'shared');
  const store = join(sharedRoot, '.pi/agent/sessions');
  const owned = (path: string): void => {
    if (existsSync(path)) return;
    owned(dirname(path));
    mkdirSync(path, { mode: 0o755 });
    give(path);
  };
  owned(store);
  const scene: LegacyScene = {
    directory,
    sharedRoot,
    store,
    domain(name) {
      const path = join(directory, 'domains', name);
      owned(path);
      return path;
    },
    write({
      id,
      cwd,
      folder = cwd === undefined ? undefined : folderOf(cwd),
      name = `${id}.jsonl`,
      content,
    }) {
      const path = folder === undefined ? name : join(folder, name);
      const file = join(store, path);
      if (!existsSync(dirname(file))) {
        mkdirSync(dirname(file));
        give(dirname(file));
      }
      writeFileSync(file, content ?? sessionText(id, cwd), { mode: 0o644 });
      give(file);
      age(file, Buffer.byteLength(id) * 1_000);
      return path;
    },
    migrate(options, ...domains) {
      return migrateLegacy({
        sharedRoot,
        seal: SEAL,
        domains: Object.fromEntries(domains.map((name) => [name, scene.domain(name)])),
        ...options,
      });
    },
    sessions: (root) => [...filesOf(root)].filter((path) => path.endsWith('.jsonl')).sort(),
  };
  return scene;
}

export function give(path: string): void {
  if (ROOT) chownSync(path, USER.uid, USER.gid);
}

export function age(file: string, seconds: number): void {
  const fd = openSync(file, 'r+');
  futimesSync(fd, FIRST_MTIME, FIRST_MTIME - seconds);
  closeSync(fd);
}

export function folderOf(cwd: string): string {
  return `--${cwd.replace(/^\//, '').replaceAll(/[/\\:]/g, '-')}--`;
}

export function sessionText(id: string, cwd: string | undefined, length = 200): string {
  const header = { type: 'session', version: 3, id, timestamp: '2026-01-01T00:00:00.000Z', cwd };
  const message = {
    type: 'message',
    id: 'a1',
    parentId: null,
    message: { role: 'user', content: id.repeat(length) },
  };
  return `${JSON.stringify(header)}\n${JSON.stringify(message)}\n`;
}

/** Every regular file below a directory, links not followed. */
export function* filesOf(root: string, below = root): Generator<string> {
  for (const entry of readdirSync(below, { withFileTypes: true })) {
    const path = join(below, entry.name);
    if (entry.isDirectory()) yield* filesOf(root, path);
    else yield relative(root, path);
  }
}

/** What every Session of a tree is, by its path. */
export function contentOf(root: string): Map<string, Kept> {
  return new Map(
    [...filesOf(root)]
      .filter((path) => path.endsWith('.jsonl') && lstatSync(join(root, path)).isFile())
      .map((path) => {
        const file = join(root, path);
        return [path, { content: readFileSync(file), mtimeNs: statSync(file, { bigint: true }).mtimeNs }];
      }),
  );
}

export function modeOf(path: string): string {
  const { mode, uid, gid } = lstatSync(path);
  return `${(mode & 0o7777).toString(8)} ${uid}:${gid}`;
}
