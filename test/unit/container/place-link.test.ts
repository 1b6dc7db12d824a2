import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { describe, expect, it } from 'vitest';
import { cacheLinks, pathsOf, rootFile, signInLinks } from '../../../src/agent-dir/index.ts';
import { buildHome } from '../../../src/container/setup/home.ts';
import { placeLink } from '../../../src/container/setup/place-link.ts';
import { prepareSharedState } from '../../../src/container/setup/shared-state.ts';
import { tryLock } from '../../../src/lib/kernel-lock.ts';
import { makeRoots, temporary } from './sandbox.ts';

const MODULE = new URL('../../../src/container/setup/place-link.ts', import.meta.url).href;

describe('placeLink', () => {
  it('S3: a right link stays, a wrong one is replaced', () => {
    const path = `${temporary()}/a/link`;
    expect(placeLink(path, '/target')).toBeUndefined();
    const before = lstatSync(path).ino;
    expect(placeLink(path, '/target')).toBeUndefined();
    expect(lstatSync(path).ino).toBe(before);
    placeLink(path, '/other');
    expect(readlinkSync(path)).toBe('/other');
  });

  it('S3: a folder, also an empty one, and a file are moved to .shared, .shared-2, …', () => {
    const directory = temporary();
    const path = `${directory}/.kube`;
    mkdirSync(path, { mode: 0o750 });
    expect(placeLink(path, '/target')).toBe(`${path}.shared`);
    expect(lstatSync(`${path}.shared`).mode & 0o777).toBe(0o750);
    for (const [content, aside] of [
      ['one', '.kube.shared-2'],
      ['two', '.kube.shared-3'],
      ['three', '.kube.shared-4'],
    ]) {
      placeLink(path, '/elsewhere');
      replaceByFolder(path, content ?? '');
      expect(placeLink(path, '/target')).toBe(`${directory}/${aside}`);
      expect(readFileSync(`${directory}/${aside}/file`, 'utf8')).toBe(content);
    }
    replaceByFile(path, 'a file');
    expect(placeLink(path, '/target')).toBe(`${directory}/.kube.shared-5`);
    expect(readFileSync(`${directory}/.kube.shared-5`, 'utf8')).toBe('a file');
    expect(readlinkSync(path)).toBe('/target');
  });

  it('S3: two processes at once move nothing twice and lose nothing, whatever stands there', async () => {
    const directory = temporary();
    const names = Array.from({ length: 60 }, (_, n) => `n${n}`);
    for (const [n, name] of names.entries()) {
      if (n % 3 === 0) writeFileSync(`${directory}/${name}`, name);
      else mkdirSync(`${directory}/${name}`);
      if (n % 3 === 1) writeFileSync(`${directory}/${name}/file`, name);
    }
    const code = `
      const { placeLink } = await import(${JSON.stringify(MODULE)});
      const at = Number(process.argv[1]);
      while (Date.now() < at);
      for (const name of ${JSON.stringify(names)}) placeLink(${JSON.stringify(directory)} + '/' + name, '/target');`;
    const at = String(Date.now() + 700);
    const children = [1, 2].map(() =>
      spawn(process.execPath, ['--input-type=module', '-e', code, '--', at], { stdio: 'inherit' }),
    );
    const exits = await Promise.all(children.map((child) => once(child, 'exit')));
    expect(exits).toEqual([
      [0, null],
      [0, null],
    ]);
    for (const [n, name] of names.entries()) {
      expect(readlinkSync(`${directory}/${name}`)).toBe('/target');
      if (n % 3 === 0) expect(readFileSync(`${directory}/${name}.shared`, 'utf8')).toBe(name);
      if (n % 3 === 1) expect(readFileSync(`${directory}/${name}.shared/file`, 'utf8')).toBe(name);
      if (n % 3 === 2) expect(readdirSync(`${directory}/${name}.shared`)).toEqual([]);
    }
    expect(readdirSync(directory)).toHaveLength(120);
  });
});

function replaceByFolder(path: string, content: string): void {
  rmSync(path, { force: true });
  mkdirSync(path);
  writeFileSync(`${path}/file`, content);
}

function replaceByFile(path: string, content: string): void {
  rmSync(path, { force: true });
  writeFileSync(path, content);
}

describe('what a start makes in the shared volume', () => {
  it('S3: links for the sign-ins and folders for what is shared, the same from every start', async () => {
    const roots = makeRoots();
    expect(await prepareSharedState(roots, ['.tool/cache'])).toEqual({ moved: [], problems: [] });
    expect(await prepareSharedState(roots, ['.tool/cache'])).toEqual({ moved: [], problems: [] });
    for (const { name, target } of [...signInLinks(roots), ...cacheLinks(roots)]) {
      expect(readlinkSync(`${roots.shared}/${name}`)).toBe(target);
    }
    for (const name of ['.cache', '.pi-lens', '.tool/cache', '.pi/agent']) {
      expect(lstatSync(`${roots.shared}/${name}`).isDirectory()).toBe(true);
    }
  });

  it('S3: what stood there is moved aside, and said', async () => {
    const roots = makeRoots();
    mkdirSync(`${roots.shared}/.config/gh`, { recursive: true });
    writeFileSync(`${roots.shared}/.config/gh/hosts.yml`, 'mine');
    const { moved } = await prepareSharedState(roots, []);
    expect(moved).toEqual([`${roots.shared}/.config/gh.shared`]);
    expect(readFileSync(`${roots.shared}/.config/gh.shared/hosts.yml`, 'utf8')).toBe('mine');
  });

  it('S3: links that another domain planted lead nothing astray', async () => {
    const roots = makeRoots();
    const elsewhere = temporary();
    mkdirSync(`${elsewhere}/gh`);
    writeFileSync(`${elsewhere}/gh/hosts.yml`, 'mine');
    symlinkSync(elsewhere, `${roots.shared}/.config`);
    symlinkSync(elsewhere, `${roots.shared}/.cache`);
    symlinkSync('/no/such', `${roots.shared}/.pi-lens`);
    const result = await prepareSharedState(roots, []);
    expect(result).toEqual({ moved: [], problems: [] });
    expect(lstatSync(`${roots.shared}/.config`).isDirectory()).toBe(true);
    expect(lstatSync(`${roots.shared}/.cache`).isDirectory()).toBe(true);
    expect(lstatSync(`${roots.shared}/.pi-lens`).isDirectory()).toBe(true);
    expect(readdirSync(elsewhere)).toEqual(['gh']);
    expect(readFileSync(`${elsewhere}/gh/hosts.yml`, 'utf8')).toBe('mine');
  });

  it('S3: folders that are swapped for links all the while lead nothing astray', async () => {
    const roots = makeRoots();
    const elsewhere = temporary();
    const attack = `
      import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
      const [config, elsewhere] = process.argv.slice(1);
      console.log('ready');
      for (;;) try {
        rmSync(config, { recursive: true, force: true }); symlinkSync(elsewhere, config);
        rmSync(config, { force: true }); mkdirSync(config);
      } catch {}`;
    const child = spawn(
      process.execPath,
      ['--input-type=module', '-e', attack, '--', `${roots.shared}/.config`, elsewhere],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    await once(child.stdout, 'data');
    try {
      for (let n = 0; n < 300; n++) await prepareSharedState(roots, []);
    } finally {
      child.kill('SIGKILL');
    }
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  it('S3: a file where a folder belongs is moved aside, and blocks no start', async () => {
    const roots = makeRoots();
    writeFileSync(`${roots.shared}/.config`, 'a file');
    expect((await prepareSharedState(roots, [])).problems).toEqual([]);
    expect(readFileSync(`${roots.shared}/.config.shared`, 'utf8')).toBe('a file');
  });

  it('S4: what no pi could take for a login is put aside or mended, and said', async () => {
    const plants: [string, (path: string) => void, string][] = [
      ['a folder', (path) => mkdirSync(path), 'it is now auth.json.shared'],
      [
        'one of gigabytes',
        (path) => {
          writeFileSync(path, '');
          truncateSync(path, 2 ** 33);
        },
        'it is now auth.json.shared',
      ],
      ['one that nobody may read', (path) => writeFileSync(path, '{}', { mode: 0 }), 'can again'],
    ];
    for (const [what, plant, said] of plants) {
      const roots = makeRoots();
      const { sharedAgent } = pathsOf(roots);
      mkdirSync(sharedAgent, { recursive: true });
      const login = rootFile(sharedAgent, 'auth.json');
      plant(login);
      expect((await prepareSharedState(roots, [])).problems, what).toEqual([expect.stringContaining(said)]);
      const facts = lstatSync(login, { throwIfNoEntry: false });
      expect(facts === undefined || (facts.isFile() && (facts.mode & 0o600) === 0o600), what).toBe(true);
      expect((await prepareSharedState(roots, [])).problems).toEqual([]);
    }
  });

  it('S3: a lock that another domain holds is waited for with a bound, and the start goes on', async () => {
    const roots = makeRoots();
    const { sharedAgent } = pathsOf(roots);
    mkdirSync(sharedAgent, { recursive: true });
    const lock = tryLock(`${sharedAgent}/.setup.lock`);
    const result = await prepareSharedState(roots, [], 200);
    expect(result.problems).toEqual([expect.stringContaining('.setup.lock')]);
    expect(existsSync(`${roots.shared}/.kube`)).toBe(false);
    lock?.release();
    expect((await prepareSharedState(roots, [], 200)).problems).toEqual([]);
  });
});

describe("the domain's home", () => {
  it('S2: start-up files come from the image, never over the user’s own', () => {
    const roots = makeRoots();
    const skeleton = temporary();
    writeFileSync(`${skeleton}/.bashrc`, 'image');
    writeFileSync(`${skeleton}/.profile`, 'image');
    const { home } = pathsOf(roots);
    mkdirSync(home);
    writeFileSync(`${home}/.bashrc`, 'mine');
    expect(buildHome(roots, ['.tool'], skeleton)).toEqual({ moved: [], problems: [] });
    expect(readFileSync(`${home}/.bashrc`, 'utf8')).toBe('mine');
    expect(readFileSync(`${home}/.profile`, 'utf8')).toBe('image');
    expect(readlinkSync(`${home}/.tool`)).toBe(`${roots.shared}/.tool`);
    expect(readlinkSync(`${home}/.pi/agent`)).toBe(pathsOf(roots).agent);
    expect(readlinkSync(`${home}/.pi/domain`)).toBe(roots.domain);
    expect(readdirSync(home).filter((name) => name.includes('tmp'))).toEqual([]);
  });

  it('S3: a ~/.config that leads nowhere is told, and the rest of the home is made', () => {
    const roots = makeRoots();
    const { home } = pathsOf(roots);
    mkdirSync(home);
    symlinkSync('/no/such/place', `${home}/.config`);
    const { problems } = buildHome(roots, [], '/none');
    expect(problems).toHaveLength(3);
    expect(readlinkSync(`${home}/.kube`)).toBe(`${roots.domain}/cli/kube`);
  });
});
