/** What sandboxes and broken disks can do to the history from before domains had their own. */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { clearLegacyStore, isLegacySettled, surveyLegacy } from '../../../src/history/index.ts';
import { FileError } from '../../../src/lib/file-error.ts';
import { tryLock } from '../../../src/lib/kernel-lock.ts';
import { tableFingerprint } from '../../../src/wire/index.ts';
import {
  contentOf,
  folderOf,
  give,
  legacyScene,
  modeOf,
  ROOT,
  SEAL,
  sessionText,
  tableOf,
  USER,
} from './legacy-scene.ts';

const TABLE = tableOf({ '/home/me/work': 'work', '/home/me/private': 'private' });

/** A header that the disk does not give back. */
const unreadable = vi.hoisted(() => new Set<string>());
vi.mock(import('../../../src/lib/directory-handle.ts'), async (original) => {
  const real = await original();
  return {
    ...real,
    openChildFile(parent, name, flags, mode) {
      if (unreadable.has(name)) {
        const cause = Object.assign(new Error('EIO: i/o error, open'), { code: 'EIO' });
        throw new FileError('open', name, cause);
      }
      return real.openChildFile(parent, name, flags, mode);
    },
  };
});

describe('S12: what a sandbox can do to old history', () => {
  it.runIf(ROOT)('S12: what is planted in its place later is no old history', async () => {
    const scene = legacyScene();
    const own = scene.write({ id: 'own', cwd: '/home/me/private' });
    await scene.migrate({ table: TABLE }, 'work');
    // A sandbox can rename what it cannot enter.
    renameSync(scene.store, join(scene.sharedRoot, '.pi/agent/moved'));
    renameSync(join(scene.sharedRoot, '.pi'), join(scene.sharedRoot, 'hidden'));
    mkdirSync(scene.store, { recursive: true });
    give(scene.store);
    const planted = scene.write({ id: 'planted', cwd: '/home/me/private' });
    const report = await scene.migrate({ table: TABLE }, 'private');
    expect(scene.sessions(scene.domain('private'))).toEqual([own]);
    expect(report.problems.items[0]?.reason).toContain('hidden/agent/moved');
    expect(existsSync(join(scene.store, planted))).toBe(true);
    expect(modeOf(scene.store)).toBe('700 65533:65532');
  });

  it.runIf(ROOT)('S12: where there was none, what appears later is none', async () => {
    const scene = legacyScene();
    rmSync(join(scene.sharedRoot, '.pi'), { recursive: true });
    await scene.migrate({ table: TABLE }, 'work');
    expect(modeOf(join(scene.sharedRoot, '.pi/agent'))).toBe(`700 ${USER.uid}:${USER.gid}`);
    renameSync(scene.store, join(scene.sharedRoot, '.pi/agent/aside'));
    mkdirSync(scene.store);
    give(scene.store);
    scene.write({ id: 'planted', cwd: '/home/me/private' });
    await scene.migrate({ table: TABLE }, 'private');
    expect(scene.sessions(scene.domain('private'))).toEqual([]);
  });

  it('S12, S3: a link where it belongs leads nowhere, and is not looked at again by every start', async () => {
    const scene = legacyScene();
    renameSync(join(scene.sharedRoot, '.pi'), join(scene.directory, 'elsewhere'));
    symlinkSync(join(scene.directory, 'elsewhere'), join(scene.sharedRoot, '.pi'));
    const before = modeOf(join(scene.directory, 'elsewhere/agent/sessions'));
    const report = await scene.migrate({ table: TABLE }, 'work');
    expect(report.problems.items).toEqual([{ file: '', reason: expect.stringContaining('.pi') }]);
    expect(modeOf(join(scene.directory, 'elsewhere/agent/sessions'))).toBe(before);
    expect(isLegacySettled(scene.domain('work'), tableFingerprint(TABLE))).toBe(true);
  });

  it.runIf(ROOT)('S12: a lock that a sandbox planted and holds keeps nobody waiting', async () => {
    const scene = legacyScene();
    const path = scene.write({ id: 'one', cwd: '/home/me/work' });
    const held = tryLock(join(scene.store, '.pi-sandbox-legacy-lock-0'));
    chownSync(join(scene.store, '.pi-sandbox-legacy-lock-0'), USER.uid, USER.gid);
    const report = await scene.migrate({ table: TABLE, waitMs: 300 }, 'work');
    held?.release();
    expect(report.stopped).toBeUndefined();
    expect(scene.sessions(scene.domain('work'))).toEqual([path]);
  });

  it('S12: a Session that is exchanged for another while it is copied is not taken away', async () => {
    const scene = legacyScene();
    const path = scene.write({ id: 'one', cwd: '/home/me/work' });
    const between = (step: string): void => {
      if (step !== 'placed') return;
      rmSync(join(scene.store, path));
      writeFileSync(join(scene.store, path), sessionText('other', '/home/me/private'));
    };
    const report = await scene.migrate({ table: TABLE, between }, 'work');
    expect(report.failed).toBe(1);
    expect(readFileSync(join(scene.store, path), 'utf8')).toContain('/home/me/private');
  });

  it('S12: a Session that went on in the domain after a crash is the same one', async () => {
    const scene = legacyScene();
    const path = scene.write({ id: 'one', cwd: '/home/me/work' });
    const there = join(scene.domain('work'), path);
    mkdirSync(join(there, '..'));
    writeFileSync(there, readFileSync(join(scene.store, path)));
    appendFileSync(there, '{"type":"custom","id":"b1"}\n');
    const after = readFileSync(there);
    await scene.migrate({ table: TABLE }, 'work');
    expect(scene.sessions(scene.domain('work'))).toEqual([path]);
    expect(readFileSync(there)).toEqual(after);
    expect(scene.sessions(scene.store)).toEqual([]);
  });
});

describe('S12: what a disk can do', () => {
  it('S12, S13: a Session that cannot be read is no damaged one: it is tried again, and clear leaves it', async () => {
    const scene = legacyScene();
    const path = scene.write({ id: 'sick', cwd: '/home/me/work' });
    unreadable.add('sick.jsonl');
    const options = { sharedRoot: scene.sharedRoot, seal: SEAL, table: TABLE };
    const report = await scene.migrate({ table: TABLE }, 'work');
    expect(report).toMatchObject({ failed: 1, problems: { items: [{ file: path }] } });
    expect(isLegacySettled(scene.domain('work'), tableFingerprint(TABLE))).toBe(false);
    const cleared = await clearLegacyStore({ ...options, all: true });
    expect(cleared).toMatchObject({ deleted: { count: 0 }, problems: { items: [{ file: path }] } });
    // What is asked about is what would go.
    expect(surveyLegacy(options)).toMatchObject({ damaged: { count: 0 }, foreign: { count: 1 } });
    unreadable.clear();
    await scene.migrate({ table: TABLE }, 'work');
    expect(scene.sessions(scene.domain('work'))).toEqual([path]);
  });

  it('S12: what the system refuses is tried at three starts, then let be', async () => {
    const scene = legacyScene();
    scene.write({ id: 'blocked', cwd: '/home/me/work/blocked' });
    writeFileSync(join(scene.domain('work'), folderOf('/home/me/work/blocked')), 'a file');
    const seen: boolean[] = [];
    for (let start = 0; start < 3; start++) {
      await scene.migrate({ table: TABLE }, 'work');
      seen.push(isLegacySettled(scene.domain('work'), tableFingerprint(TABLE)));
    }
    expect(seen).toEqual([false, false, true]);
  });

  it('S12: a folder for each Session needs no more open files than an engine grants', () => {
    const scene = legacyScene();
    const paths = Array.from({ length: 600 }, (_, at) =>
      scene.write({ id: `s${at}`, cwd: `/home/me/work/p${at}` }),
    );
    const before = contentOf(scene.store);
    const options = {
      sharedRoot: scene.sharedRoot,
      domains: { work: scene.domain('work') },
      table: TABLE,
      seal: SEAL,
    };
    const program = join(import.meta.dirname, 'legacy-process.ts');
    // Podman's usual limit; Node takes what the hard limit gives.
    const script = `ulimit -n 1024; exec "$0" "$@"`;
    const { stdout, stderr } = spawnSync(
      '/bin/sh',
      ['-c', script, process.execPath, program, JSON.stringify(options)],
      { encoding: 'utf8' },
    );
    expect(stderr).toBe('');
    expect(JSON.parse(stdout).report).toMatchObject({ failed: 0, moved: { count: paths.length } });
    expect(contentOf(scene.domain('work'))).toEqual(before);
    expect(readdirSync(scene.store).filter((name) => !name.startsWith('.'))).toEqual([]);
  }, 60_000);
});
