import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  entriesOf,
  linkChild,
  removeEmptyChild,
  renameChild,
  statChild,
  syncDirectory,
  unlinkChild,
} from '../../../src/lib/directory-entries.ts';
import {
  type DirectoryHandle,
  MountPointError,
  makeChildDirectory,
  NotRegularFileError,
  openChildDirectory,
  openChildFile,
  openDirectory,
} from '../../../src/lib/directory-handle.ts';
import { takeLock, tryLock } from '../../../src/lib/kernel-lock.ts';
import { smallDisk, temporaryDirectory } from './temporary.ts';

function handle(path: string): DirectoryHandle {
  const directory = openDirectory(path);
  onTestFinished(() => directory.close());
  return directory;
}

function child(parent: DirectoryHandle, name: string): DirectoryHandle {
  const directory = openChildDirectory(parent, name);
  onTestFinished(() => directory.close());
  return directory;
}

describe('a directory handle', () => {
  it('rule 8: stays the same directory when a link is put in its place', () => {
    const [root, elsewhere] = [temporaryDirectory(), temporaryDirectory()];
    mkdirSync(join(root, 'd'));
    writeFileSync(join(root, 'd', 'mine'), '');
    writeFileSync(join(elsewhere, 'theirs'), 'kept');
    const directory = child(handle(root), 'd');
    renameSync(join(root, 'd'), join(root, 'moved'));
    symlinkSync(elsewhere, join(root, 'd'));
    expect([...entriesOf(directory)].map(({ name }) => name)).toEqual(['mine']);
    expect(statChild(directory, 'theirs')).toBeUndefined();
    expect(() => unlinkChild(directory, 'theirs')).toThrow('no such file');
    unlinkChild(directory, 'mine');
    expect(readdirSync(join(root, 'moved'))).toEqual([]);
    expect(readFileSync(join(elsewhere, 'theirs'), 'utf8')).toBe('kept');
  });

  it('rule 5: what fails below it is told by its real path', async () => {
    const root = temporaryDirectory();
    const directory = handle(root);
    mkdirSync(join(root, 'lock'));
    const path = join(realpathSync(root), 'lock');
    await expect(takeLock(directory.at('lock'))).rejects.toThrow(`cannot open lock ${path}: `);
    const lock = tryLock(directory.at('held'));
    onTestFinished(() => lock?.release());
    await expect(takeLock(directory.at('held'), { waitMs: 0 })).rejects.toThrow(
      `${join(realpathSync(root), 'held')} is held by another process`,
    );
  });

  it('rule 8: without /proc it refuses to go on once another directory stands at its path', () => {
    const [root, elsewhere] = [temporaryDirectory(), temporaryDirectory()];
    mkdirSync(join(root, 'd'));
    writeFileSync(join(root, 'd', 'mine'), '');
    writeFileSync(join(elsewhere, 'mine'), 'kept');
    const top = openDirectory(root, { byPath: true });
    const directory = child(top, 'd');
    top.close();
    expect([...entriesOf(directory)].map(({ name }) => name)).toEqual(['mine']);
    renameSync(join(root, 'd'), join(root, 'moved'));
    symlinkSync(elsewhere, join(root, 'd'));
    expect(() => unlinkChild(directory, 'mine')).toThrow('was replaced');
    expect(() => [...entriesOf(directory)]).toThrow('was replaced');
    expect(readFileSync(join(elsewhere, 'mine'), 'utf8')).toBe('kept');
  });

  it('rule 8: opens neither links nor files nor fifos in a directory’s or a file’s place', () => {
    const root = temporaryDirectory();
    mkdirSync(join(root, 'd'));
    writeFileSync(join(root, 'f'), 'x');
    symlinkSync('d', join(root, 'to-d'));
    symlinkSync('f', join(root, 'to-f'));
    execFileSync('mkfifo', [join(root, 'fifo')]);
    const directory = handle(root);
    for (const name of ['f', 'to-d', 'to-f', 'fifo', 'none'])
      expect(() => openChildDirectory(directory, name), name).toThrow('cannot open directory');
    for (const name of ['d', 'to-f', 'fifo'])
      expect(() => openChildFile(directory, name), name).toThrow(NotRegularFileError);
    expect(() => openDirectory(join(root, 'to-d'))).toThrow('cannot open directory');
    expect(openChildFile(directory, 'f').stats.size).toBe(1);
  });

  it('rule 3: ends where another file system is mounted', (context) => {
    const disk = smallDisk(64);
    if ('skip' in disk) return context.skip(disk.skip);
    const root = temporaryDirectory();
    mkdirSync(join(root, 'other'));
    execFileSync('mount', ['--bind', disk.path, join(root, 'other')]);
    try {
      expect(() => openChildDirectory(handle(root), 'other')).toThrow(MountPointError);
    } finally {
      execFileSync('umount', [join(root, 'other')]);
    }
  });

  it('rule 8: takes names of entries only, and nothing after it is closed', () => {
    const directory = openDirectory(temporaryDirectory());
    for (const name of ['', '..', 'a/b', '/etc']) expect(() => directory.at(name)).toThrow('is no name');
    directory.close();
    directory.close();
    expect(() => directory.at('a')).toThrow('was closed');
  });

  it('rule 2: moves, links and removes within what is open; an empty directory only goes when it is empty', () => {
    const root = temporaryDirectory();
    const directory = handle(root);
    const made = makeChildDirectory(directory, 'made');
    makeChildDirectory(directory, 'made').close();
    writeFileSync(join(root, 'f'), 'x');
    renameChild(directory, 'f', made, 'g');
    linkChild(made, 'g', directory, 'f');
    syncDirectory(directory);
    expect(() => linkChild(made, 'g', directory, 'f')).toThrow('exists');
    expect(removeEmptyChild(directory, 'made')).toBe(false);
    unlinkChild(made, 'g');
    expect(removeEmptyChild(directory, 'made')).toBe(true);
    expect(removeEmptyChild(directory, 'made')).toBe(false);
    made.close();
    expect(existsSync(join(root, 'f'))).toBe(true);
  });
});
