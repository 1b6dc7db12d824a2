import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { releaseStartTurn } from '../../../src/agent/extensions/lock/start-turn.ts';
import {
  bringBackFromTrash,
  isSessionOpen,
  parseSessionId,
  readLastEntryId,
  readSessionHeader,
  readSessionHolder,
  sessionFolderName,
  sessionLockDirectory,
  trySessionLock,
} from '../../../src/pi/index.ts';

const root = mkdtempSync(join(tmpdir(), 'session-files-'));
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(root, 't-'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const HEADER =
  '{"type":"session","version":3,"id":"abc-1","timestamp":"2026-11-30T19:24:48.047Z","cwd":"/p"}';

function file(content: string, name = 's.jsonl'): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

describe('the header', () => {
  it('S12: is the first line that is JSON, of any version', () => {
    expect(readSessionHeader(file(`\n{torn\n${HEADER}\n`))).toMatchObject({ id: 'abc-1', cwd: '/p' });
    expect(readSessionHeader(file('{"type":"session","id":"x"}'))).toEqual({ type: 'session', id: 'x' });
  });

  it('S11: what is no Session has none: another file, an empty one, a directory, an endless line', () => {
    expect(readSessionHeader(file('{"type":"message","id":"x"}\n'))).toBeUndefined();
    expect(readSessionHeader(file(''))).toBeUndefined();
    expect(readSessionHeader(file('x'.repeat(3_000_000)))).toBeUndefined();
    expect(readSessionHeader(file('{"type":"session","id":"../x"}'))).toBeUndefined();
    expect(readSessionHeader(directory)).toBeUndefined();
  });

  it('S11: a link is not followed', () => {
    const link = join(directory, 'link.jsonl');
    symlinkSync(file(HEADER), link);
    expect(() => readSessionHeader(link)).toThrow('ELOOP');
  });

  it('H3: an id is what pi takes as one', () => {
    expect(parseSessionId('01a22dde-1425')).toBe('01a22dde-1425');
    for (const bad of ['', '-a', 'a/b', 'a b', '.']) expect(parseSessionId(bad)).toBeUndefined();
  });

  it('S11: folders are named as pi names them', () => {
    expect(sessionFolderName('/home/me/w/a.b/c d/é:x')).toBe('--home-me-w-a.b-c d-é-x--');
  });
});

it('H3: the last entry tells whether a Session was read whole', () => {
  expect(readLastEntryId(file(`${HEADER}\n`))).toBeNull();
  expect(readLastEntryId(file(`${HEADER}\n{"type":"message","id":"e1"}\n`))).toBe('e1');
  expect(
    readLastEntryId(file(`${HEADER}\n{"id":"e1"}\n{"type":"x","text":"${'y'.repeat(300_000)}","id":"e2"}`)),
  ).toBe('e2');
  expect(readLastEntryId(file(`${HEADER}\n{"id":"e1"}\n{"id":`))).toBeUndefined();
});

describe('the lock', () => {
  const holder = { pid: 7, host: 'box', startedAt: '2026-11-30T00:00:00.000Z' };

  it('H3: is by id and by real path, tells who holds it, and goes with its release', () => {
    const locks = join(directory, 'locks');
    const target = { id: 'abc-1', file: file(HEADER) };
    const attempt = trySessionLock(locks, target, holder);
    expect(isSessionOpen(locks, { ...target, file: '/elsewhere.jsonl' })).toBe(true);
    symlinkSync(directory, join(root, 'link'));
    expect(isSessionOpen(locks, { id: 'other', file: join(root, 'link', 's.jsonl') })).toBe(true);
    expect(isSessionOpen(locks, { id: 'other', file: join(directory, 'other.jsonl') })).toBe(false);
    expect(trySessionLock(locks, { id: 'other', file: target.file }, holder)).toEqual({
      takenBy: { ...holder, what: 'session abc-1' },
    });
    // The failed attempt has let go of the id that it had taken.
    expect(isSessionOpen(locks, { id: 'other', file: '/elsewhere.jsonl' })).toBe(false);
    if (!('lock' in attempt)) throw new Error('not taken');
    attempt.lock.release();
    expect(isSessionOpen(locks, target)).toBe(false);
    expect(readSessionHolder(locks, target)).toBeUndefined();
  });

  it('H3: lies where the sandbox says, else beside the sockets', () => {
    expect(sessionLockDirectory({ PI_SANDBOX_LOCK_DIR: '/l', XDG_RUNTIME_DIR: '/r' })).toBe('/l');
    expect(sessionLockDirectory({ XDG_RUNTIME_DIR: '/r' })).toBe('/r/pi-agents/locks');
    expect(sessionLockDirectory({ HOME: '/h' })).toBe('/h/.local/state/pi/agents/runtime/locks');
  });
});

describe('the trash', () => {
  function trash(day: string, content: string, folder = '--p--'): string {
    const path = join(directory, '.trash', day, folder);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 's.jsonl.trashed'), content);
    return join(path, 's.jsonl.trashed');
  }

  it('S11: gives the newest copy of this very Session back, flat files too', () => {
    trash('2026-11-01', `${HEADER}\nold\n`);
    trash('2026-11-29', HEADER.replace('abc-1', 'foreign'));
    const newest = trash('2026-11-20', `${HEADER}\nnew\n`);
    const target = join(directory, '--p--', 's.jsonl');
    expect(bringBackFromTrash(target, 'abc-1')).toEqual({
      outcome: 'restored',
      from: newest,
      sessions: directory,
    });
    expect(readFileSync(target, 'utf8')).toContain('new');
    expect(existsSync(newest)).toBe(false);
    trash('2026-11-30', HEADER, '.');
    expect(bringBackFromTrash(join(directory, 's.jsonl'), 'abc-1').outcome).toBe('restored');
  });

  it('S11: never replaces a file: both are kept', () => {
    const trashed = trash('2026-11-20', HEADER, '.');
    const standing = file('something else');
    expect(bringBackFromTrash(standing, 'abc-1')).toEqual({ outcome: 'both', trashed });
    expect(readFileSync(standing, 'utf8')).toBe('something else');
    expect(existsSync(trashed)).toBe(true);
    expect(bringBackFromTrash(join(directory, 'none.jsonl'), 'abc-1')).toEqual({ outcome: 'not-found' });
  });
});

describe('the start turn', () => {
  it('S8: only the start-turn lock is closed, and once', () => {
    const lock = openSync(file('', 'start-turn.lock'), 'r');
    const other = openSync(file('', 'other'), 'r');
    const wrong = { PI_SANDBOX_TURN_FD: String(other) };
    expect(releaseStartTurn(wrong)).toBe(false);
    expect(wrong).toEqual({});
    const right = { PI_SANDBOX_TURN_FD: String(lock) };
    expect([releaseStartTurn(right), releaseStartTurn(right)]).toEqual([true, false]);
    expect(() => closeSync(lock)).toThrow('EBADF');
    closeSync(other);
    for (const value of ['x', '1', '-1', '999'])
      expect(releaseStartTurn({ PI_SANDBOX_TURN_FD: value })).toBe(false);
  });

  it('S8: a lock taken by flock(1) is free once its descriptor is closed here', () => {
    const lock = join(directory, 'start-turn.lock');
    const code = `
      import { spawnSync } from 'node:child_process';
      import { releaseStartTurn } from ${JSON.stringify(new URL('../../../src/agent/extensions/lock/start-turn.ts', import.meta.url).href)};
      const free = () => spawnSync('flock', ['-n', ${JSON.stringify(lock)}, 'true']).status === 0;
      const before = free();
      releaseStartTurn(process.env);
      console.log(before, free());`;
    const run = spawnSync(
      'sh',
      [
        '-c',
        `exec 9>"$1"; flock 9; exec "$2" --input-type=module -e "$3"`,
        'sh',
        lock,
        process.execPath,
        code,
      ],
      {
        env: { ...process.env, PI_SANDBOX_TURN_FD: '9' },
        encoding: 'utf8',
      },
    );
    expect(run.stdout.trim(), run.stderr).toBe('false true');
  });
});
