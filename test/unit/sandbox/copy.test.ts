import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { entriesOfSource, openSource } from '../../../src/cli/sandbox/copy/collect.ts';
import { parseEndpoint } from '../../../src/cli/sandbox/copy/endpoint.ts';
import { extractAll, type TarEntry } from '../../../src/cli/sandbox/copy/extract.ts';
import { requireNoWayOut } from '../../../src/cli/sandbox/copy/project-links.ts';
import { openDirectory } from '../../../src/lib/directory-handle.ts';

let root = '';
let into = '';
let skipped: string[] = [];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'copy-'));
  into = join(root, 'into');
  mkdirSync(into);
  mkdirSync(join(root, 'outside'));
  writeFileSync(join(root, 'outside/victim'), 'mine');
  skipped = [];
});
afterEach(() => rmSync(root, { recursive: true }));

type Sent = Partial<TarEntry['header']> & { name: string; text?: string; before?: () => void };

async function* sent(entries: readonly Sent[]): AsyncGenerator<TarEntry> {
  for (const { text = '', before, ...header } of entries) {
    before?.();
    yield { header, content: contentOf(text) };
  }
}

async function* contentOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function extract(entries: readonly Sent[], rename?: string): Promise<void> {
  const top = openDirectory(into);
  try {
    await extractAll(sent(entries), { top, rename, onSkipped: (line) => skipped.push(line) });
  } finally {
    top.close();
  }
}

const file = (name: string, text: string): Sent => ({ name, type: 'file', text });

describe('S15, rule 8: what a sandbox sends', () => {
  it('S15: files, directories and links arrive as they are', async () => {
    await extract([
      { name: './', type: 'directory' },
      { ...file('./a/b/c', 'text'), mode: 0o4755, mtime: new Date(1_000_000) },
      { name: './link', type: 'symlink', linkname: '../anywhere' },
      { name: './hard', type: 'link', linkname: './a/b/c' },
    ]);
    const facts = lstatSync(join(into, 'a/b/c'));
    expect([facts.mode & 0o7777, facts.mtimeMs, facts.nlink]).toEqual([0o755, 1_000_000, 2]);
    expect(readlinkSync(join(into, 'link'))).toBe('../anywhere');
    expect(readdirSync(into).sort()).toEqual(['a', 'hard', 'link']);
  });

  it('S15: a directory keeps its mode where it is made, and a directory that was there keeps its own', async () => {
    mkdirSync(join(into, 'there'), { mode: 0o755 });
    await extract([
      { name: './private', type: 'directory', mode: 0o700 },
      { name: './locked', type: 'directory', mode: 0o555 },
      file('./locked/f', 'x'),
      { name: './there', type: 'directory', mode: 0o777 },
    ]);
    const modes = ['private', 'locked', 'there'].map((name) => lstatSync(join(into, name)).mode & 0o777);
    expect(modes).toEqual([0o700, 0o755, 0o755]);
  });

  it.each(['../victim', 'a/../../victim', '/../victim', './a/..'])(
    'rule 8: the name %j is refused',
    async (name) => {
      await expect(extract([file(name, 'evil')])).rejects.toThrow('leads out of the copy');
      expect(readdirSync(into)).toEqual([]);
    },
  );

  it('rule 8: an absolute name stays inside', async () => {
    await extract([file(`${root}/outside/victim`, 'evil')]);
    expect(readFileSync(join(root, 'outside/victim'), 'utf8')).toBe('mine');
  });

  it('rule 8: a link that was sent before is not walked through', async () => {
    const link: Sent = { name: 'a', type: 'symlink', linkname: join(root, 'outside') };
    await expect(extract([link, file('a/victim', 'evil')])).rejects.toThrow();
    expect(readFileSync(join(root, 'outside/victim'), 'utf8')).toBe('mine');
  });

  it('rule 8: a link in a file’s place is replaced and not written through', async () => {
    symlinkSync(join(root, 'outside/victim'), join(into, 'a'));
    await extract([file('a', 'new')]);
    expect(lstatSync(join(into, 'a')).isFile()).toBe(true);
    expect(readFileSync(join(root, 'outside/victim'), 'utf8')).toBe('mine');
  });

  it('rule 8: a directory that is swapped for a link in the middle does not lead out', async () => {
    const swap = (): void => {
      renameSync(join(into, 'd'), join(into, 'moved'));
      symlinkSync(join(root, 'outside'), join(into, 'd'));
    };
    await extract([file('d/one', '1'), { ...file('d/two', '2'), before: swap }]);
    expect(readdirSync(join(root, 'outside'))).toEqual(['victim']);
    expect(readdirSync(join(into, 'moved')).sort()).toEqual(['one', 'two']);
  });

  it('rule 8: a hard link reaches nothing but files of the copy', async () => {
    symlinkSync(join(root, 'outside/victim'), join(into, 'out'));
    await extract([{ name: 'hard', type: 'link', linkname: 'out' }]);
    expect(skipped).toEqual([expect.stringContaining('links to no file of the copy')]);
    await expect(extract([{ name: 'h', type: 'link', linkname: '../outside/victim' }])).rejects.toThrow(
      'leads out',
    );
  });

  it('rule 8: devices and pipes are left out and named', async () => {
    await extract([{ name: 'p', type: 'fifo' }, { name: 'd', type: 'block-device' }, file('f', 'x')]);
    expect(skipped).toHaveLength(2);
    expect(readdirSync(into)).toEqual(['f']);
  });

  it('rule 2: a file whose bytes break off is not there', async () => {
    async function* broken(): AsyncGenerator<TarEntry> {
      yield { header: { name: 'f', type: 'file' }, content: breaking() };
    }
    async function* breaking(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('half');
      throw new Error('gone');
    }
    writeFileSync(join(into, 'f'), 'before');
    const top = openDirectory(into);
    await expect(
      extractAll(broken(), { top, rename: undefined, onSkipped: () => undefined }),
    ).rejects.toThrow('gone');
    top.close();
    expect(readdirSync(into)).toEqual(['f']);
    expect(readFileSync(join(into, 'f'), 'utf8')).toBe('before');
  });

  it('rule 8: whatever is sent, nothing outside changes', async () => {
    const name = fc.array(fc.constantFrom('a', 'b', '..', '.', '', 'victim', 'outside'), { maxLength: 5 });
    const entry = fc.record({
      name: name.map((parts) => parts.join('/')),
      type: fc.constantFrom('file', 'directory', 'symlink', 'link', 'fifo'),
      linkname: fc.oneof(
        name.map((parts) => parts.join('/')),
        fc.constantFrom('../outside', '../outside/victim'),
      ),
      text: fc.constant('evil'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 12 }), async (entries) => {
        await extract(entries).catch(() => undefined);
        expect(readFileSync(join(root, 'outside/victim'), 'utf8')).toBe('mine');
        expect(readdirSync(join(root, 'outside'))).toEqual(['victim']);
        expect(readdirSync(root).sort()).toEqual(['into', 'outside']);
        rmSync(into, { recursive: true });
        mkdirSync(into);
      }),
      { seed: 15, numRuns: 200 },
    );
  });
});

describe('rule 8: links that a session puts into its project', () => {
  const reach = (path: string, opened: string, project = into): void => {
    const directory = openDirectory(opened);
    try {
      requireNoWayOut(project, path, directory);
    } finally {
      directory.close();
    }
  };

  it('rule 8: one that leads out is refused, and what it leads to is named', () => {
    symlinkSync('../outside', join(into, 'out'));
    const outside = join(root, 'outside');
    expect(() => reach(join(into, 'out'), outside)).toThrow(`leads out of it, to ${outside}`);
    mkdirSync(join(outside, 'deeper'));
    expect(() => reach(join(into, 'out/deeper'), join(outside, 'deeper'))).toThrow('leads out');
    symlinkSync(into, join(root, 'mine'));
    expect(() => reach(join(root, 'mine/out'), outside)).toThrow('leads out');
  });

  it('rule 8: one that stays inside, and every one of the user’s own, is followed', () => {
    mkdirSync(join(into, 'd'));
    symlinkSync('d', join(into, 'in'));
    symlinkSync(into, join(root, 'mine'));
    expect(() => reach(join(into, 'in'), join(into, 'd'))).not.toThrow();
    expect(() => reach(join(root, 'mine'), into)).not.toThrow();
    symlinkSync('outside', join(root, 'own'));
    expect(() => reach(join(root, 'own'), join(root, 'outside'))).not.toThrow();
    // A name that begins as the project's does is not in it.
    mkdirSync(`${into}-other`);
    expect(() => reach(`${into}-other`, `${into}-other`)).not.toThrow();
    expect(() => reach(into, into, join(root, 'gone'))).not.toThrow();
  });

  it('rule 8: what is copied into a sandbox is not taken from behind one', () => {
    symlinkSync('../outside', join(into, 'out'));
    for (const [path, follow] of [
      ['out/victim', false],
      ['out/', false],
      ['out/.', false],
      ['out', true],
    ] as const)
      expect(() => openSource(`${into}/${path}`, follow, into)).toThrow('leads out of it');
    openSource(join(into, 'out'), false, into).directory.close();
  });

  it('S15: the project itself is copied', () => {
    for (const end of ['', '/', '/.']) openSource(`${into}${end}`, false, into).directory.close();
    openSource(into, true, into).directory.close();
  });
});

describe('S15: what goes into a sandbox', () => {
  const names = (path: string, follow = false): string[] => {
    const source = openSource(path, follow, join(root, 'no-project'));
    try {
      return [...entriesOfSource(source, (line) => skipped.push(line))]
        .map(({ name, type }) => `${type} ${name}`)
        .sort();
    } finally {
      source.directory.close();
    }
  };

  it('S15: a tree, with its links as links', () => {
    mkdirSync(join(into, 'd'));
    writeFileSync(join(into, 'd/f'), 'x');
    symlinkSync(join(root, 'outside'), join(into, 'l'));
    execFileSync('mkfifo', [join(into, 'p')]);
    expect(names(into)).toEqual(['directory ./', 'directory ./d/', 'file ./d/f', 'symlink ./l']);
    expect(skipped).toEqual([expect.stringContaining('no file, directory or link')]);
  });

  it('S15: a link that is named itself is copied as a link, and followed when asked', () => {
    symlinkSync(join(root, 'outside'), join(into, 'l'));
    expect(names(join(into, 'l'))).toEqual(['symlink entry']);
    expect(names(join(into, 'l'), true)).toEqual(['directory ./', 'file ./victim']);
    expect(names(`${join(into, 'l')}/`)).toEqual(['directory ./', 'file ./victim']);
  });

  it('rule 8: a directory that is swapped for a link during the walk does not lead out', () => {
    mkdirSync(join(into, 'd'));
    writeFileSync(join(into, 'd/f'), 'x');
    const source = openSource(into, false, root);
    const walk = entriesOfSource(source, (line) => skipped.push(line));
    expect(walk.next().value?.name).toBe('./');
    renameSync(join(into, 'd'), join(root, 'gone'));
    symlinkSync(join(root, 'outside'), join(into, 'd'));
    const rest = [...walk].map(({ name }) => name);
    source.directory.close();
    expect(rest.filter((name) => name.includes('victim'))).toEqual([]);
  });

  it('S15: what is not there is one clear line', () => {
    expect(() => openSource(join(root, 'none'), false, root)).toThrow('none does not exist');
    expect(existsSync(join(root, 'none'))).toBe(false);
  });
});

describe('S15: which side a word means', () => {
  it.each([
    ['-', { where: 'stream' }],
    ['file', { where: 'here', path: 'file' }],
    ['./a:b', { where: 'here', path: './a:b' }],
    ['/nowhere/a:b', { where: 'here', path: '/nowhere/a:b' }],
    [':/etc/hosts', { where: 'sandbox', sandbox: undefined, path: '/etc/hosts' }],
    ['.:/etc/hosts', { where: 'sandbox', sandbox: '.', path: '/etc/hosts' }],
    ['shop:etc/hosts', { where: 'sandbox', sandbox: 'shop', path: '/etc/hosts' }],
    ['shop:~/x', { where: 'sandbox', sandbox: 'shop', path: '~/x' }],
    ['.:/tmp/x/..', { where: 'sandbox', sandbox: '.', path: '/tmp' }],
    ['.:..//../etc', { where: 'sandbox', sandbox: '.', path: '/etc' }],
    ['.:/tmp/./x/.', { where: 'sandbox', sandbox: '.', path: '/tmp/x/.' }],
    ['.:/tmp/x/', { where: 'sandbox', sandbox: '.', path: '/tmp/x/' }],
    ['.:/', { where: 'sandbox', sandbox: '.', path: '/' }],
    ['.:/.', { where: 'sandbox', sandbox: '.', path: '/.' }],
    ['.:~', { where: 'sandbox', sandbox: '.', path: '~' }],
    ['.:~/', { where: 'sandbox', sandbox: '.', path: '~' }],
    ['.:~/a/..', { where: 'sandbox', sandbox: '.', path: '~' }],
    ['.:~/.', { where: 'sandbox', sandbox: '.', path: '~/.' }],
    ['/tmp:/a:b', { where: 'sandbox', sandbox: '/tmp', path: '/a:b' }],
  ] as const)('S15: %s', (word, endpoint) => {
    expect(parseEndpoint(word)).toEqual(endpoint);
  });

  it('S15: a path out of the sandbox’s home is refused, not taken for another', () => {
    expect(() => parseEndpoint('.:~/../tmp')).toThrow('leads out of the sandbox');
  });

  it('S15: a file here whose name has a colon is that file', () => {
    writeFileSync(join(into, 'a:b'), '');
    expect(parseEndpoint(join(into, 'a:b'))).toMatchObject({ where: 'here' });
  });
});
