import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDirectory } from '../../../src/lib/directory-handle.ts';
import { inDirectory } from '../../../src/lib/in-directory.ts';

let root: string;
const started = process.cwd();

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'pi-sandbox-lib-')));
  mkdirSync(join(root, 'in'));
  writeFileSync(join(root, 'in/file'), 'four');
});
afterEach(() => {
  process.chdir(started);
  rmSync(root, { recursive: true, force: true });
});

describe('working in a directory', () => {
  it('names alone are addresses there, and the process is back afterwards', () => {
    const directory = openDirectory(join(root, 'in'));
    expect(inDirectory(directory, (at) => lstatSync(at('file')).size)).toBe(4);
    expect(() =>
      inDirectory(directory, () => {
        throw new Error('in the middle');
      }),
    ).toThrow('in the middle');
    expect(process.cwd()).toBe(started);
    directory.close();
  });

  it('rule 3: it is the directory that was opened, whatever stands at its path now', () => {
    const directory = openDirectory(join(root, 'in'));
    renameSync(join(root, 'in'), join(root, 'moved'));
    mkdirSync(join(root, 'other'));
    symlinkSync(join(root, 'other'), join(root, 'in'));
    expect(inDirectory(directory, (at) => lstatSync(at('file')).size)).toBe(4);
    directory.close();
  });

  it('takes no name that leads out', () => {
    const directory = openDirectory(join(root, 'in'));
    for (const name of ['', '..', '../x', '/etc'])
      expect(() => inDirectory(directory, (at) => at(name))).toThrow('is no name of an entry');
    directory.close();
  });

  it('comes back to a directory that has gone meanwhile', () => {
    mkdirSync(join(root, 'here'));
    process.chdir(join(root, 'here'));
    const directory = openDirectory(join(root, 'in'));
    expect(
      inDirectory(directory, (at) => {
        rmSync(join(root, 'here'), { recursive: true });
        return lstatSync(at('file')).size;
      }),
    ).toBe(4);
    expect(() => process.cwd()).toThrow('ENOENT');
    directory.close();
  });

  it('works by the handle’s own addresses where there is no way through the descriptor', () => {
    const directory = openDirectory(join(root, 'in'), { byPath: true });
    expect(inDirectory(directory, (at) => at('file'))).toBe(join(root, 'in/file'));
    directory.close();
  });
});
