import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { isAtomicTemporary, makeStateDirectory, writeFileAtomic } from '../../../src/lib/atomic-file.ts';
import { FileError } from '../../../src/lib/file-error.ts';
import { startChild } from './child.ts';
import { seeded, smallDisk, temporaryDirectory } from './temporary.ts';

/** In a process of its own: the umask belongs to the whole process. */
async function underUmask(code: string, ...args: string[]): Promise<void> {
  const child = startChild(`process.umask(0o777);\n${code}`, ...args);
  expect(await child.exit).toBe(0);
}

describe('writeFileAtomic', () => {
  it('rule 2: creates and replaces a file, 0600, and leaves nothing else behind', async () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'state.json');
    await writeFileAtomic(path, 'old');
    await writeFileAtomic(path, Buffer.from('new'));
    expect(readFileSync(path, 'utf8')).toBe('new');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual(['state.json']);
  });

  it('rule 2: the mode is the one asked for, whatever the umask', async () => {
    const path = join(temporaryDirectory(), 'state.json');
    await underUmask(
      `const { writeFileAtomic } = await import(lib('atomic-file.ts'));
       await writeFileAtomic(process.argv[1], 'x', { mode: 0o640 });`,
      path,
    );
    expect(statSync(path).mode & 0o777).toBe(0o640);
  });

  it('rule 2: the file behind a link is replaced and the link stays, over several links and directories', async () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'real/deep'), { recursive: true });
    symlinkSync('real/deep', join(directory, 'way'));
    symlinkSync('../target', join(directory, 'real/deep/hop'));
    symlinkSync('way/hop', join(directory, 'link'));
    writeFileSync(join(directory, 'real/target'), 'old');
    await writeFileAtomic(join(directory, 'link'), 'new');
    expect(readFileSync(join(directory, 'real/target'), 'utf8')).toBe('new');
    expect(lstatSync(join(directory, 'link')).isSymbolicLink()).toBe(true);
    expect(lstatSync(join(directory, 'real/deep/hop')).isSymbolicLink()).toBe(true);
  });

  it('rule 8: a link or a fifo is replaced itself where nothing is followed', async () => {
    const directory = temporaryDirectory();
    const [path, mine] = [join(directory, 'status'), join(directory, 'mine')];
    writeFileSync(mine, 'mine');
    symlinkSync(mine, path);
    await writeFileAtomic(path, 'new', { follow: false });
    expect([readFileSync(mine, 'utf8'), readFileSync(path, 'utf8')]).toEqual(['mine', 'new']);
    expect(lstatSync(path).isFile()).toBe(true);
  });

  it('S4: what a dangling link names is created', async () => {
    const directory = temporaryDirectory();
    symlinkSync(join(directory, 'auth.json'), join(directory, 'link'));
    await writeFileAtomic(join(directory, 'link'), '{}');
    expect(readFileSync(join(directory, 'auth.json'), 'utf8')).toBe('{}');
    expect(lstatSync(join(directory, 'link')).isSymbolicLink()).toBe(true);
  });

  it('rule 2: links in a circle, directories and devices are refused by name and stay', async () => {
    const directory = temporaryDirectory();
    symlinkSync('b', join(directory, 'a'));
    symlinkSync('a', join(directory, 'b'));
    symlinkSync('/dev/null', join(directory, 'null'));
    for (const name of ['a', 'null', '.', 'missing/file']) {
      await expect(writeFileAtomic(join(directory, name), 'x')).rejects.toThrow(FileError);
    }
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
    expect(readdirSync(directory).filter(isAtomicTemporary)).toEqual([]);
  });

  it('rule 2: a full disk leaves the old file whole and no temporary file', async (context) => {
    const disk = smallDisk(64);
    if ('skip' in disk) return context.skip(disk.skip);
    const path = join(disk.path, 'state.json');
    await writeFileAtomic(path, 'old');
    const failure = await writeFileAtomic(path, Buffer.alloc(1024 * 1024)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(FileError);
    expect(failure).toMatchObject({ code: 'ENOSPC', path, hint: expect.stringMatching(/free space/) });
    expect(readFileSync(path, 'utf8')).toBe('old');
    expect(readdirSync(disk.path)).toEqual(['state.json']);
  });

  it('rule 2: a writer killed at any moment leaves one whole version, and the next writer goes on', async () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'state.json');
    const random = seeded(1);
    for (let round = 0; round < 30; round++) {
      const child = startChild(
        `const { writeFileAtomic } = await import(lib('atomic-file.ts'));
         for (let version = 0; ; version++) {
           await writeFileAtomic(process.argv[1], JSON.stringify({ version, text: String(version % 10).repeat(50_000) }));
           if (version === 0) console.log('writing');
         }`,
        path,
      );
      await child.line();
      await sleep(random() * 25);
      child.process.kill('SIGKILL');
      await child.exit;
      const { version, text } = JSON.parse(readFileSync(path, 'utf8'));
      expect(text).toBe(String(version % 10).repeat(50_000));
      const others = readdirSync(directory).filter((name) => name !== 'state.json');
      expect(others.every(isAtomicTemporary)).toBe(true);
      for (const name of others) unlinkSync(join(directory, name));
    }
  }, 60_000);

  it('rule 2: two writers in two processes never mix', async () => {
    const path = join(temporaryDirectory(), 'state.json');
    const code = `const { writeFileAtomic } = await import(lib('atomic-file.ts'));
      for (let i = 0; i < 40; i++) await writeFileAtomic(process.argv[1], process.argv[2].repeat(100_000));`;
    const children = ['a', 'b'].map((letter) => startChild(code, path, letter));
    let running = true;
    void Promise.all(children.map((child) => child.exit)).then(() => {
      running = false;
    });
    while (running) {
      if (existsSync(path)) expect(readFileSync(path, 'utf8')).toMatch(/^(a{100000}|b{100000})$/);
      await sleep(2);
    }
    expect(await Promise.all(children.map((child) => child.exit))).toEqual([0, 0]);
  });
});

describe('makeStateDirectory', () => {
  it.runIf(existsSync('/proc/self'))('gives up where no directory can be made', async () => {
    const refused = makeStateDirectory('/proc/nowhere/at/all');
    await expect(refused).rejects.toThrow('cannot make directory /proc/nowhere/at/all');
  });

  it('rule 2: makes it and its missing parents 0700, whatever the umask, and leaves those that exist', async () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'theirs'), { mode: 0o755 });
    await underUmask(
      `const { makeStateDirectory } = await import(lib('atomic-file.ts'));
       await makeStateDirectory(process.argv[1]);
       await makeStateDirectory(process.argv[1]);`,
      join(directory, 'theirs/a/b'),
    );
    const modes = ['theirs', 'theirs/a', 'theirs/a/b'].map(
      (name) => statSync(join(directory, name)).mode & 0o777,
    );
    expect(modes).toEqual([0o755, 0o700, 0o700]);
  });

  it('rule 5: something else in its place is named', async () => {
    const path = join(temporaryDirectory(), 'file');
    writeFileSync(path, '');
    await expect(makeStateDirectory(path)).rejects.toThrow(path);
    await expect(makeStateDirectory(join(path, 'below'))).rejects.toThrow(FileError);
  });
});
