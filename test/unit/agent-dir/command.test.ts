/** `pi-work migrate`, `memory` and `doctor` as a user calls them. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { agentDirAt, markLive } from '../../../src/agent-dir/index.ts';
import { builtProgram } from '../../setup/built-program.ts';
import { agentDirWith, opened, type Tree, treeOf } from './scene.ts';

let program = '';
beforeAll(() => {
  program = builtProgram('src/agent/pi-work.ts');
});

function scene(tree: Tree) {
  const agentDir = agentDirWith(tree);
  const call = (words: string[], { input = '', ...env }: Record<string, string> = {}) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...words], {
      env: { PATH: process.env.PATH, HOME: '/nowhere', PI_ADAPTATIVE_CODING_AGENT_DIR: agentDir, ...env },
      encoding: 'utf8',
      timeout: 20_000,
      input,
    });
    return { status, stdout, stderr };
  };
  return { agentDir, call };
}

describe('pi-work migrate', () => {
  it('W10: moves what an older layout left, after a dry run has said so', () => {
    const { agentDir, call } = scene({ 'backups/a': 'a', 'notes.txt': 'mine' });
    expect(call(['migrate', '--dry-run'])).toMatchObject({
      status: 0,
      stdout: 'would move backups -> state/backups/config\n',
    });
    expect(call(['migrate'])).toMatchObject({ status: 0, stdout: 'moved backups -> state/backups/config\n' });
    expect(treeOf(agentDir)).toEqual({ 'notes.txt': 'mine', 'state/backups/config/a': 'a' });
    expect(call(['migrate']).stdout).toBe(`${agentDir}: nothing of an older layout\n`);
  });

  it('W10: says what was kept beside and what stays, also to a program', () => {
    const tree = { 'backups/a': 'old', 'backups/l': 'link:a', 'state/backups/config/a': 'new' };
    const { agentDir, call } = scene(tree);
    const { status, stdout } = call(['migrate', '--json']);
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      version: 1,
      agentDir,
      outcome: 'done',
      conflicts: 1,
      left: 1,
      steps: expect.arrayContaining([{ what: 'left', from: 'backups/l', reason: 'it is a link' }]),
    });
  });

  it('W10: trust.json moves only for a pi that reads it in state', () => {
    const { agentDir, call } = scene({ 'trust.json': '{}' });
    call(['migrate']);
    expect(treeOf(agentDir)).toEqual({ 'trust.json': '{}' });
    call(['migrate', '--trust-in-state']);
    expect(treeOf(agentDir)).toEqual({ 'state/trust.json': '{}' });
  });

  it('W10: says why nothing was moved while a sandbox is alive there', async () => {
    const { agentDir, call } = scene({ 'backups/a': 'a' });
    const mark = await markLive(opened(agentDirAt(agentDir)));
    const { status, stderr } = call(['migrate']);
    mark.release();
    expect(status).toBe(1);
    expect(stderr).toContain(`nothing in ${agentDir} was moved: a running sandbox works there`);
  });
});

describe('pi-work memory', () => {
  it('W11: adds, replaces, removes and shows', () => {
    const { agentDir, call } = scene({});
    expect(call(['memory', 'add', 'likes', 'tea']).stdout).toBe('remembered (12 bytes in USER.md)\n');
    expect(call(['memory', 'add', '-'], { input: 'works in Berlin\n' }).status).toBe(0);
    expect(call(['memory', 'replace', 'tea', 'coffee']).status).toBe(0);
    expect(call(['memory', 'show']).stdout).toBe('- likes coffee\n- works in Berlin\n');
    expect(call(['memory', 'remove', 'Berlin']).stdout).toBe(
      'removed: - works in Berlin (15 bytes in USER.md)\n',
    );
    expect(readFileSync(join(agentDir, 'USER.md'), 'utf8')).toBe('- likes coffee\n');
    expect(JSON.parse(call(['memory', 'show', '--json']).stdout)).toEqual({
      version: 1,
      profile: '- likes coffee\n',
      bytes: 15,
      shards: 0,
    });
  });

  it('W11: says where the profile is when it has outgrown USER_MD_BUDGET', () => {
    const { call } = scene({});
    const { stdout } = call(['memory', 'add', 'x'.repeat(600)], { USER_MD_BUDGET: '512' });
    expect(stdout).toBe('remembered (603 bytes in one part, see okf-memory/user-preferences/index.okf.md)\n');
  });

  it('W11: a text that is not there is a failure, a wrong budget or no text a wrong call', () => {
    const { call } = scene({ 'USER.md': '- likes tea\n' });
    expect(call(['memory', 'remove', 'coffee'])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('the profile does not hold "coffee"'),
    });
    expect(call(['memory', 'add', 'x'], { USER_MD_BUDGET: 'much' }).status).toBe(2);
    expect(call(['memory', 'add', ' ']).status).toBe(2);
    expect(call(['memory', 'add']).status).toBe(2);
  });

  it('rule 8: what a hostile profile holds reaches no terminal', () => {
    const { call } = scene({ 'USER.md': '- \u001b]0;title\u0007 \u202e evil\n' });
    for (const words of [
      ['memory', 'show'],
      ['memory', 'show', '--json'],
    ]) {
      const { stdout } = call(words);
      for (const character of ['\u001b', '\u0007', '\u202e']) expect(stdout).not.toContain(character);
    }
  });
});

describe('pi-work doctor', () => {
  it('W12: is clean where everything belongs, and warns of the rest with size and age', () => {
    const { agentDir, call } = scene({ 'settings.json': '{}', 'work/': '' });
    expect(call(['doctor'])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`${agentDir}: all is well`),
    });
    const other = scene({ 'settings.json': '{}', 'report.txt': '12345', 'backups/a': 'a' });
    const { status, stdout } = other.call(['doctor']);
    expect(status).toBe(1);
    expect(stdout).toMatch(/report\.txt: 5 B, \d+ seconds? old\n/);
    expect(stdout).toMatch(/backups\/: 1 B, .*; pi-work migrate moves it\n/);
    const json = JSON.parse(other.call(['doctor', '--json']).stdout);
    expect(json.agentDirectories[0].entries.map(({ name }: { name: string }) => name)).toEqual([
      'backups',
      'report.txt',
    ]);
    expect(treeOf(other.agentDir)).toEqual({
      'settings.json': '{}',
      'report.txt': '12345',
      'backups/a': 'a',
    });
  });
});
