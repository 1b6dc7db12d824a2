import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { missingPackages } from '../../../src/pi/index.ts';

const agent = mkdtempSync(join(tmpdir(), 'packages-'));
const places = { npm: join(agent, 'npm'), git: join(agent, 'git') };
afterAll(() => rmSync(agent, { recursive: true, force: true }));

it('S8: only packages that are not installed are missing', () => {
  for (const path of ['npm/node_modules/one', 'npm/node_modules/@me/two', 'git/github.com/me/three']) {
    mkdirSync(join(agent, path), { recursive: true });
  }
  const installed = [
    'npm:one',
    'npm:one@1.2.3',
    'npm:@me/two',
    'npm:@me/two@^1',
    './local',
    '~/local',
    '/local',
  ];
  const git = [
    'git:github.com/me/three',
    'https://github.com/me/three.git',
    'git:git@github.com:me/three@v1',
  ];
  const ssh = 'ssh://git@github.com/me/three';
  expect(missingPackages(places, [...installed, ...git, ssh])).toEqual([]);
  const missing = [
    'npm:other',
    'npm:@me/one',
    'git:github.com/me/other',
    'https://github.com/../../../etc',
    '???',
  ];
  expect(missingPackages(places, missing)).toEqual(missing);
});
