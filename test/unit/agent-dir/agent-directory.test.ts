import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  agentDirAt,
  binDir,
  cacheDir,
  cacheFile,
  getAgentDir,
  getBinDir,
  gitDir,
  modelsDir,
  npmDir,
  pathsOf,
  piEnvironment,
  resolveWorkRoot,
  rootEntry,
  rootFile,
  runtimesDir,
  sandboxEnvironment,
  sandboxRoots,
  sessionsDir,
  stateDir,
  stateFile,
  workDir,
  worktreesDir,
} from '../../../src/agent-dir/index.ts';

let scratch: string;
beforeEach(() => {
  scratch = realpathSync(mkdtempSync(join(tmpdir(), 'agent-dir-')));
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

function found(env: Record<string, string>): string {
  return getAgentDir({ env, home: '/home/someone', cwd: '/project' });
}

describe('W1: where the agent directory is', () => {
  test('W1: PI_ADAPTATIVE_CODING_AGENT_DIR goes before PI_CODING_AGENT_DIR, and that before ~/.pi/agent', () => {
    const own = { PI_ADAPTATIVE_CODING_AGENT_DIR: '/own' };
    const pis = { PI_CODING_AGENT_DIR: '/pis' };
    expect(found({ ...own, ...pis })).toBe('/own');
    expect(found(pis)).toBe('/pis');
    expect(found({})).toBe('/home/someone/.pi/agent');
  });

  test('W1: an empty variable counts as none', () => {
    expect(found({ PI_ADAPTATIVE_CODING_AGENT_DIR: '', PI_CODING_AGENT_DIR: '/pis' })).toBe('/pis');
  });

  test.each([
    ['~', '/home/someone'],
    ['~/pi', '/home/someone/pi'],
    ['below', '/project/below'],
    ['../beside', '/beside'],
    ['/x//y/../z/', '/x/z'],
  ])('W1: %s becomes the absolute path %s', (word, path) => {
    expect(found({ PI_CODING_AGENT_DIR: word })).toBe(path);
  });

  test('W1: a home directory that is the root is one as well', () => {
    const at = (word: string) => getAgentDir({ env: { PI_CODING_AGENT_DIR: word }, home: '/', cwd: '/' });
    expect([at(''), at('~'), at('//'), at('~/x//')]).toEqual(['/.pi/agent', '/', '/', '/x']);
    expect(agentDirAt('//')).toBe('/');
  });

  test('W1: a relative path is taken for no agent directory', () => {
    expect(() => agentDirAt('agent')).toThrow('"agent" is no agent directory: the path is not absolute');
  });
});

describe('W1: the work root', () => {
  test('W1: links are followed, up to work itself', () => {
    mkdirSync(join(scratch, 'elsewhere/real'), { recursive: true });
    mkdirSync(join(scratch, 'agent'));
    symlinkSync('../elsewhere/real', join(scratch, 'agent/work'));
    symlinkSync('agent', join(scratch, 'link'));
    expect(resolveWorkRoot(agentDirAt(join(scratch, 'link')))).toBe(join(scratch, 'elsewhere/real'));
  });

  test('W1: what is not there yet is resolved as far as it is, and nothing is made', () => {
    symlinkSync('real', join(scratch, 'link'));
    expect(resolveWorkRoot(agentDirAt(join(scratch, 'link/agent')))).toBe(join(scratch, 'real/agent/work'));
    expect(() => realpathSync(join(scratch, 'real'))).toThrow('ENOENT');
  });

  test('W1: links without end are refused', () => {
    symlinkSync('work', join(scratch, 'work'));
    expect(() => resolveWorkRoot(agentDirAt(scratch))).toThrow(`cannot resolve ${scratch}/work`);
  });

  test('W1: a pi that we start is told both, by the names that it and its children read', () => {
    expect(piEnvironment(agentDirAt(scratch))).toEqual({
      PI_CODING_AGENT_DIR: scratch,
      PI_WORK_ROOT: join(scratch, 'work'),
    });
  });

  test('W1: in a sandbox it is the directory in the domain that the link leads to', () => {
    const environment = sandboxEnvironment(sandboxRoots(1000));
    expect(environment.PI_WORK_ROOT).toBe('/home/pi/.pi/domain/agent/work');
  });
});

describe('W9: accessors', () => {
  const agent = agentDirAt('/a');

  test('W9: each directory of the layout has its accessor', () => {
    expect([
      stateDir(agent),
      cacheDir(agent),
      binDir(agent),
      getBinDir(agent),
      workDir(agent),
      runtimesDir(agent),
      modelsDir(agent),
      sessionsDir(agent),
      npmDir(agent),
      gitDir(agent),
      worktreesDir(agent),
    ]).toEqual([
      '/a/state',
      '/a/cache',
      '/a/bin',
      '/a/bin',
      '/a/work',
      '/a/runtimes',
      '/a/models',
      '/a/sessions',
      '/a/npm',
      '/a/git',
      '/a/worktrees',
    ]);
  });

  test('W9: files and directories below state and cache', () => {
    expect(stateDir(agent, 'backups', 'config')).toBe('/a/state/backups/config');
    expect(stateFile(agent, 'fitness.json')).toBe('/a/state/fitness.json');
    expect(cacheFile(agent, 'extensions', 'x', 'probe.json')).toBe('/a/cache/extensions/x/probe.json');
    expect(rootFile(agent, 'USER.md')).toBe('/a/USER.md');
  });

  test.each(['', '.', '..', 'a/b', 'a\\b', 'a\0b'])('W9: %j is no name', (name) => {
    expect(() => stateDir(agent, name)).toThrow('is no name of an entry in /a');
    expect(() => rootEntry(agent, name)).toThrow('is no name of an entry in /a');
  });

  test('W9: the paths of a sandbox are agent directories too', () => {
    const { agent: own, sharedAgent, domainAgent, homeAgent } = pathsOf(sandboxRoots(1000));
    expect([own, sharedAgent, domainAgent, homeAgent]).toEqual([
      '/run/pi-session/agent',
      '/run/pi-agent-state/.pi/agent',
      '/home/pi/.pi/domain/agent',
      '/home/pi/.pi/domain/home/.pi/agent',
    ]);
  });
});
