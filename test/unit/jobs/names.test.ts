import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  InvalidJobNameError,
  isJobName,
  logicalDirectory,
  numbered,
  parseJobName,
  projectFolder,
  proposeJobName,
} from '../../../src/jobs/index.ts';
import { temporaryDirectory } from '../lib/temporary.ts';

describe('names of jobs (J1)', () => {
  it.each(['', 'A', 'a b', 'a/b', '..', 'ä', 'con', 'lpt1', 'a'.repeat(65)])('J1: %j is none', (text) => {
    expect(() => parseJobName(text)).toThrow(InvalidJobNameError);
  });

  it('J1: any text gives a name, and that name with a number is one too', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 2, max: 99_999 }), (text, count) => {
        const name = proposeJobName(text);
        return isJobName(name) && isJobName(numbered(name, count));
      }),
    );
  });

  it('J1: a number fits also behind the longest name', () => {
    expect(numbered(parseJobName('a'.repeat(64)), 12)).toBe(`${'a'.repeat(61)}-12`);
  });

  it('J1: is made of the first words of a prompt', () => {
    expect(proposeJobName('Review src/jobs, please: all of it, to the end')).toBe(
      'review-src-jobs-please-all',
    );
  });
});

describe('the folder of a project (J1)', () => {
  it.each([
    ['/home/me/app', 'home-me-app'],
    ['/', '_'],
    ['/srv/Größe', 'srv-Gr--e'],
    ['/a/b', 'a-b'],
    ['/a-b', 'a-b'],
    ['/-x', '-x'],
  ])('J1: of %s is %s', (directory, folder) => {
    expect(projectFolder(directory)).toBe(folder);
  });

  it('J1: is a file name however long the path is', () => {
    expect(projectFolder(`/${'x/'.repeat(2_000)}`).length).toBeLessThanOrEqual(200);
  });

  it('J1: a directory is called as its user spells it, if that is the same one', () => {
    const base = temporaryDirectory();
    const [real, link] = [join(base, 'real'), join(base, 'link')];
    mkdirSync(real);
    symlinkSync(real, link);
    expect(logicalDirectory({ PWD: link }, real)).toBe(link);
    expect(logicalDirectory({ PWD: base }, real)).toBe(real);
    expect(logicalDirectory({ PWD: 'link' }, real)).toBe(real);
  });
});
