import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cacheLinks, pathsOf, type Roots } from '../../../src/agent-dir/index.ts';
import { SharedPlaces } from '../../../src/container/keeper/shared-places.ts';
import { removeLink } from '../../../src/container/setup/place-link.ts';
import { until } from '../../setup/pi.ts';
import { makeRoots, temporary } from './sandbox.ts';

/** As many sandboxes as given, which share one volume. */
function sandboxes(count: number): { roots: Roots; directory: string; problems: string[] } {
  const roots = makeRoots();
  const directory = pathsOf(roots).sharedAgent;
  mkdirSync(directory, { recursive: true });
  const problems: string[] = [];
  for (let n = 0; n < count; n++) {
    const places = new SharedPlaces(roots, (problem) => problems.push(problem));
    places.start();
    onTestFinished(() => places.stop());
  }
  return { roots, directory, problems };
}

const isLink = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;

describe('links that another domain plants in shared places', () => {
  it('S4: one in the place of the login goes at once, and what it led to is untouched', async () => {
    const { directory, problems } = sandboxes(2);
    const mine = `${temporary()}/mine`;
    writeFileSync(mine, 'mine');
    symlinkSync(mine, `${directory}/auth.json`);
    await until('the link to go', () => !isLink(`${directory}/auth.json`));
    expect(readFileSync(mine, 'utf8')).toBe('mine');
    expect(problems).toContain('auth.json in the shared agent directory was a link and has been removed');
  });

  it('S5: one in the place of a folder gives way to a folder', async () => {
    const { directory } = sandboxes(1);
    symlinkSync(temporary(), `${directory}/npm`);
    await until('the folder', () => existsSync(`${directory}/npm`) && !isLink(`${directory}/npm`));
    expect(lstatSync(`${directory}/npm`).isDirectory()).toBe(true);
  });

  it('S4: a link to a real login, planted again and again, never costs the login that comes after it', async () => {
    const { directory, problems } = sandboxes(3);
    for (let n = 0; n < 40; n++) {
      const fresh = `${directory}/fresh`;
      symlinkSync('/nowhere', `${directory}/.planted`);
      renameSync(`${directory}/.planted`, `${directory}/auth.json`);
      await sleep(n % 7);
      writeFileSync(fresh, `login ${n}`);
      renameSync(fresh, `${directory}/auth.json`);
      await sleep(n % 5);
      await until('the login', () => existsSync(`${directory}/auth.json`));
      expect(readFileSync(`${directory}/auth.json`, 'utf8')).toBe(`login ${n}`);
    }
    expect(problems.length).toBeLessThanOrEqual(3);
  });

  it('S5: a folder in the place of a cache that is the domain’s own gives way to the link again', async () => {
    const { roots } = sandboxes(1);
    const [{ name, target } = { name: '', target: '' }] = cacheLinks(roots);
    const path = `${roots.shared}/${name}`;
    const right = (): boolean => isLink(path) && readlinkSync(path) === target;
    await until('the link', right);
    removeLink(path);
    mkdirSync(path);
    await until('the link after a folder', right);
    renameSync(`${roots.shared}/.cache`, `${roots.shared}/elsewhere`);
    mkdirSync(path, { recursive: true });
    await until('the link in another cache', right);
    removeLink(path);
    mkdirSync(path);
    await until('the link in the cache that is there now', right);
  });

  it('S4: links in another agent directory that was put in its place go too', async () => {
    const { roots, directory } = sandboxes(1);
    renameSync(`${roots.shared}/.pi`, `${roots.shared}/elsewhere`);
    for (const _round of [1, 2]) {
      mkdirSync(directory, { recursive: true });
      symlinkSync('/nowhere', `${directory}/auth.json`);
      await until('the link to go', () => !isLink(`${directory}/auth.json`));
    }
  });

  it('S4: a folder above that is a link is no way out', async () => {
    const { roots, directory } = sandboxes(0);
    const elsewhere = temporary();
    symlinkSync('/x', `${elsewhere}/auth.json`);
    renameSync(directory, `${directory}.old`);
    symlinkSync(elsewhere, directory);
    const places = new SharedPlaces(roots, () => undefined);
    places.start();
    places.stop();
    expect(isLink(`${elsewhere}/auth.json`)).toBe(true);
  });
});

describe('removeLink', () => {
  it('S4: takes a link and leaves a file or a folder where it is', () => {
    const directory = temporary();
    symlinkSync('/x', `${directory}/link`);
    writeFileSync(`${directory}/file`, 'content');
    mkdirSync(`${directory}/folder`);
    expect(removeLink(`${directory}/link`)).toBe(true);
    expect(removeLink(`${directory}/link`)).toBe(false);
    expect(removeLink(`${directory}/file`)).toBe(false);
    expect(removeLink(`${directory}/folder`)).toBe(false);
    expect(readFileSync(`${directory}/file`, 'utf8')).toBe('content');
    expect(lstatSync(`${directory}/folder`).isDirectory()).toBe(true);
  });
});
