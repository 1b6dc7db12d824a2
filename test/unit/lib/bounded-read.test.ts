import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openRegularFile, readRegularFile, UnsafeFileError } from '../../../src/lib/bounded-read.ts';
import { LimitError } from '../../../src/lib/errors.ts';
import { FileError } from '../../../src/lib/file-error.ts';
import { startChild } from './child.ts';
import { temporaryDirectory } from './temporary.ts';

/** A project with a secret outside it. */
function project(): { root: string; secret: string } {
  const directory = temporaryDirectory();
  const root = join(directory, 'project');
  mkdirSync(join(root, '.pi-sandbox'), { recursive: true });
  writeFileSync(join(root, '.pi-sandbox/AGENTS.md'), 'rules');
  writeFileSync(join(directory, 'secret'), 'SECRET');
  return { root, secret: join(directory, 'secret') };
}

describe('readRegularFile', () => {
  it('rule 8: reads a regular file, and a missing one is undefined', async () => {
    const { root } = project();
    const options = { maxBytes: 100, within: root };
    expect((await readRegularFile(join(root, '.pi-sandbox/AGENTS.md'), options))?.toString()).toBe('rules');
    expect(await readRegularFile(join(root, 'none'), options)).toBeUndefined();
    expect(await readRegularFile(join(root, '.pi-sandbox/AGENTS.md/none'), options)).toBeUndefined();
    expect(await readRegularFile(join(root, 'none'), { maxBytes: 100 })).toBeUndefined();
  });

  it('rule 8: a link that leaves the directory is refused, as the file or on the way, also through another link', async () => {
    const { root, secret } = project();
    symlinkSync(secret, join(root, 'absolute'));
    symlinkSync('../secret', join(root, 'relative'));
    symlinkSync('..', join(root, 'up'));
    symlinkSync('up/secret', join(root, 'twice'));
    for (const name of ['absolute', 'relative', 'up/secret', 'twice', '../secret']) {
      const reading = readRegularFile(`${root}/${name}`, { maxBytes: 100, within: root });
      await expect(reading, name).rejects.toThrow(UnsafeFileError);
    }
  });

  it('rule 8: a directory whose name merely begins alike is outside', async () => {
    const { root } = project();
    mkdirSync(`${root}-other`);
    writeFileSync(`${root}-other/file`, 'SECRET');
    symlinkSync(`${root}-other/file`, join(root, 'link'));
    await expect(readRegularFile(join(root, 'link'), { maxBytes: 9, within: root })).rejects.toThrow(
      UnsafeFileError,
    );
  });

  it('rule 8: links that stay inside are followed, and names that begin with dots are names', async () => {
    const { root } = project();
    symlinkSync('.pi-sandbox', join(root, 'config'));
    writeFileSync(join(root, '..odd'), 'odd');
    const options = { maxBytes: 100, within: root };
    expect((await readRegularFile(join(root, 'config/AGENTS.md'), options))?.toString()).toBe('rules');
    expect((await readRegularFile(join(root, '..odd'), options))?.toString()).toBe('odd');
  });

  it('rule 8: the directory itself may be reached through a link', async () => {
    const { root } = project();
    symlinkSync(root, `${root}-link`);
    const path = `${root}-link/.pi-sandbox/AGENTS.md`;
    expect((await readRegularFile(path, { maxBytes: 9, within: `${root}-link` }))?.toString()).toBe('rules');
  });

  it('rule 8: without a directory the last component must not be a link', async () => {
    const { root, secret } = project();
    symlinkSync(secret, join(root, 'link'));
    await expect(readRegularFile(join(root, 'link'), { maxBytes: 9 })).rejects.toThrow(
      /is not read: it is a link/,
    );
  });

  it('rule 8: fifos, sockets, devices and directories are refused at once', async () => {
    const { root } = project();
    execFileSync('mkfifo', [join(root, 'fifo')]);
    const server = createServer().listen(join(root, 'socket'));
    onTestFinished(() => {
      server.close();
    });
    await new Promise((resolve) => server.once('listening', resolve));
    for (const path of [join(root, 'fifo'), join(root, 'socket'), root]) {
      await expect(readRegularFile(path, { maxBytes: 9 }), path).rejects.toThrow(UnsafeFileError);
      await expect(readRegularFile(path, { maxBytes: 9, within: root }), path).rejects.toThrow(
        UnsafeFileError,
      );
    }
    await expect(readRegularFile('/dev/zero', { maxBytes: 9 })).rejects.toThrow(UnsafeFileError);
  });

  it('rule 7: the bound is exact, and reaching it is an error, not a cut', async () => {
    const { root } = project();
    const path = join(root, 'file');
    writeFileSync(path, Buffer.alloc(10_000, 1));
    expect(await readRegularFile(path, { maxBytes: 10_000 })).toHaveLength(10_000);
    await expect(readRegularFile(path, { maxBytes: 9_999 })).rejects.toThrow(LimitError);
    writeFileSync(path, '');
    expect(await readRegularFile(path, { maxBytes: 0 })).toHaveLength(0);
  });

  it('rule 7: a file without a size, as /proc has them, is bounded too', async () => {
    expect(String(await readRegularFile('/proc/self/status', { maxBytes: 100_000 }))).toContain('Name:');
    await expect(readRegularFile('/proc/self/status', { maxBytes: 20 })).rejects.toThrow(LimitError);
  });

  it('rule 7: a file that grows while it is read stays within the bound', async () => {
    const { root } = project();
    const path = join(root, 'file');
    writeFileSync(path, Buffer.alloc(1_000_000));
    const reading = readRegularFile(path, { maxBytes: 1_000_100 });
    for (let more = 0; more < 50; more++) appendFileSync(path, Buffer.alloc(10_000));
    const result = await reading.catch((error: unknown) => error);
    if (!(result instanceof Buffer)) expect(result).toBeInstanceOf(LimitError);
  });

  it('rule 8: while another process swaps directory and link all the time, the secret is never read', async () => {
    const { root } = project();
    mkdirSync(join(root, 'a'));
    writeFileSync(join(root, 'a/secret'), 'harmless');
    const swapper = startChild(
      `import { renameSync, symlinkSync } from 'node:fs';
       const root = process.argv[1];
       symlinkSync('..', root + '/b');
       console.log('swapping');
       for (;;) {
         renameSync(root + '/a', root + '/c');
         renameSync(root + '/b', root + '/a');
         renameSync(root + '/a', root + '/b');
         renameSync(root + '/c', root + '/a');
       }`,
      root,
    );
    await swapper.line();
    const seen = new Set<string>();
    try {
      for (let round = 0; round < 1_500; round++) {
        const result = await readRegularFile(join(root, 'a/secret'), { maxBytes: 100, within: root }).then(
          (content) => String(content),
          (error: unknown) =>
            error instanceof UnsafeFileError || error instanceof FileError ? 'refused' : 'crash',
        );
        seen.add(result);
      }
    } finally {
      swapper.process.kill('SIGKILL');
      await swapper.exit;
    }
    expect(seen).not.toContain('SECRET');
    expect(seen).not.toContain('crash');
    expect(seen).toContain('harmless');
  });

  it('rule 8: an opened file stays readable by its handle when the name is replaced', async () => {
    const { root } = project();
    const path = join(root, '.pi-sandbox/AGENTS.md');
    const handle = await openRegularFile(path, { within: root });
    writeFileSync(join(root, 'other'), 'other');
    renameSync(join(root, 'other'), path);
    expect(String(await handle?.readFile())).toBe('rules');
    await handle?.close();
  });
});
