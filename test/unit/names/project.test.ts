import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CanonicalPath } from '../../../src/cli/config/index.ts';
import {
  type Project,
  requireSafeProject,
  resolveProject,
  sandboxUser,
} from '../../../src/cli/sandbox/project.ts';
import { gitCommonDirectory, gitHooksDirectory } from '../../../src/cli/sandbox/project-git.ts';
import { UsageError } from '../../../src/lib/errors.ts';

let root: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'project-')));
});
afterEach(() => rm(root, { recursive: true }));

const path = (text: string) => CanonicalPath.parse(text);

describe('resolving a project', () => {
  it('S18: the current directory by default, canonical, shown with ~', async () => {
    await mkdir(join(root, 'home/a'), { recursive: true });
    await symlink(join(root, 'home/a'), join(root, 'link'));
    const home = join(root, 'home');
    expect(await resolveProject(undefined, { cwd: join(home, 'a'), home })).toMatchObject({
      canonical: join(home, 'a'),
      display: '~/a',
    });
    expect(await resolveProject('../link', { cwd: home, home })).toMatchObject({
      canonical: join(home, 'a'),
    });
  });

  it.each(['a b', 'a:b', 'a,b', `a"b'c`, 'ä日本', 'n'.repeat(200)])(
    'S18: %j is a project like any other',
    async (name) => {
      await mkdir(join(root, name));
      expect((await resolveProject(name, { cwd: root, home: '/nowhere' })).canonical).toBe(join(root, name));
    },
  );

  it('S14: a missing one, a file, a line break and invalid UTF-8 are usage errors', async () => {
    const facts = { cwd: root, home: root };
    await writeFile(join(root, 'file'), '');
    await mkdir(join(root, 'a\nb'));
    await symlink(join(root, 'a\nb'), join(root, 'to-line-break'));
    await mkdir(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0x61])]));
    await symlink(
      Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0x61])]),
      join(root, 'to-bytes'),
    );
    await expect(resolveProject('missing', facts)).rejects.toThrow(/does not exist/);
    await expect(resolveProject('file', facts)).rejects.toThrow(/not a directory/);
    await expect(resolveProject('a\nb', facts)).rejects.toThrow(UsageError);
    await expect(resolveProject('to-line-break', facts)).rejects.toThrow(/control character/);
    await expect(resolveProject('to-bytes', facts)).rejects.toThrow(/not valid UTF-8/);
  });
});

describe('projects that are refused', () => {
  const project = (text: string): Project => ({
    canonical: path(text),
    display: text,
    owner: { uid: 1, gid: 1 },
  });
  const facts = {
    home: '/users/me',
    configDirectory: '/users/me/.config/pi-sandbox',
    engineSockets: ['/srv/engine/docker.sock'],
  };

  it.each([
    '/usr',
    '/usr/lib',
    '/usr/lib/node_modules',
    '/etc',
    '/etc/ssl',
    '/bin',
    '/lib',
    '/proc',
    '/sys/x',
    '/dev',
    '/run',
    '/run/user/1000',
    '/var',
    '/opt',
    '/opt/pi-sandbox',
    '/tmp',
    '/home',
    '/home/pi',
    '/home/pi/.pi/agent',
    '/users',
    '/users/me',
    '/users/me/.config',
    '/users/me/.config/pi-sandbox',
    '/users/me/.config/pi-sandbox/config',
    '/srv/engine',
    '/srv',
    '/var/lib/docker/volumes/pi-agent-state/_data',
    '/var/lib/containers/storage',
    '/users/me/.local/share/docker/volumes',
    '/users/me/.local/share/containers',
  ])('S17: %s is refused without --force', async (text) => {
    await expect(requireSafeProject(project(text), facts)).rejects.toThrow(UsageError);
    await expect(requireSafeProject(project(text), facts, true)).resolves.toBeUndefined();
  });

  it.each([
    '/usr/src/x',
    '/home/pi/x',
    '/home/other',
    '/tmp/x',
    '/opt/x',
    '/var/www/x',
    '/run/media/me/disk',
    '/users/me/x',
    '/users/me/.local/share/x',
    '/var/lib/x',
    '/binary',
    '/srv/x',
  ])('S17: %s is fine', async (text) => {
    await expect(requireSafeProject(project(text), facts)).resolves.toBeUndefined();
  });

  it('S17: / is refused always', async () => {
    await expect(requireSafeProject(project('/'), facts, true)).rejects.toThrow(UsageError);
  });

  it('S17: links to home and configuration are seen through', async () => {
    await mkdir(join(root, 'real/.config'), { recursive: true });
    await symlink(join(root, 'real'), join(root, 'home'));
    const linked = { home: join(root, 'home'), configDirectory: join(root, 'home/.config/pi-sandbox') };
    await expect(requireSafeProject(project(join(root, 'real')), linked)).rejects.toThrow(
      /your home directory/,
    );
    await expect(requireSafeProject(project(join(root, 'real/.config')), linked)).rejects.toThrow(
      /configuration directory/,
    );
  });
});

describe('whose sandbox it is', () => {
  const owner = { uid: 7, gid: 8 };
  const user = (env: Record<string, string>, uid: number, config = {}, rootlessOwner?: number) =>
    sandboxUser({ env, getuid: () => uid, getgid: () => uid, projectOwner: owner, config, rootlessOwner });

  it('S2: the invoking user; under sudo its caller; as plain root the owner; SANDBOX_UID/GID override', () => {
    expect(user({ SUDO_UID: '5', SUDO_GID: '6' }, 1000)).toEqual({ uid: 1000, gid: 1000 });
    expect(user({ SUDO_UID: '5', SUDO_GID: '6' }, 0)).toEqual({ uid: 5, gid: 6 });
    expect(user({}, 0)).toEqual(owner);
    expect(user({ SUDO_UID: '0', SUDO_GID: '0' }, 0)).toEqual(owner);
    expect(user({ SUDO_UID: 'x' }, 0)).toEqual(owner);
    expect(user({}, 1000, { SANDBOX_UID: 0 })).toEqual({ uid: 0, gid: 1000 });
    expect(user({}, 1000, { SANDBOX_UID: 60001, SANDBOX_GID: 100 })).toEqual({ uid: 60001, gid: 100 });
  });

  it('S2: in a rootless engine its owner is uid 0, and nobody else has a number there', () => {
    expect(user({}, 1000, {}, 1000)).toEqual({ uid: 0, gid: 0 });
    expect(user({}, 0, {}, owner.uid)).toEqual({ uid: 0, gid: 0 });
    expect(user({ SUDO_UID: '5' }, 0, {}, 5)).toEqual({ uid: 0, gid: 0 });
    expect(() => user({}, 1001, {}, 1000)).toThrow(UsageError);
    expect(user({}, 1001, { SANDBOX_UID: 3, SANDBOX_GID: 4 }, 1000)).toEqual({ uid: 3, gid: 4 });
  });
});

describe('git directories outside the project', () => {
  async function repository(at: string) {
    const git = join(root, at);
    for (const name of ['objects', 'refs', 'hooks']) await mkdir(join(git, name), { recursive: true });
    await writeFile(join(git, 'HEAD'), 'ref: refs/heads/main\n');
    return git;
  }
  async function worktree(git: string, at = 'tree') {
    const project = join(root, at);
    const gitdir = join(git, 'worktrees', at);
    await mkdir(project, { recursive: true });
    await mkdir(gitdir, { recursive: true });
    await writeFile(join(project, '.git'), `gitdir: ${gitdir}\n`);
    await writeFile(join(gitdir, 'gitdir'), `${project}/.git\n`);
    await writeFile(join(gitdir, 'commondir'), '../..\n');
    return path(project);
  }

  it("S17: a worktree's common directory is mounted, with its hooks protected", async () => {
    const git = await repository('main/.git');
    const project = await worktree(git);
    expect(await gitCommonDirectory(project)).toEqual({ directory: git });
    expect(await gitHooksDirectory(project, path(git))).toBe(join(git, 'hooks'));
  });

  it('S17: an ordinary repository and a plain directory need nothing', async () => {
    const git = await repository('main/.git');
    expect(await gitCommonDirectory(path(join(root, 'main')))).toBeUndefined();
    expect(await gitHooksDirectory(path(join(root, 'main')))).toBe(join(git, 'hooks'));
    expect(await gitCommonDirectory(path(root))).toBeUndefined();
    expect(await gitHooksDirectory(path(root))).toBeUndefined();
  });

  it('S17: a planted gitdir that does not point back mounts nothing', async () => {
    const git = await repository('main/.git');
    await worktree(git);
    await mkdir(join(root, 'evil'));
    await writeFile(join(root, 'evil/.git'), `gitdir: ${join(git, 'worktrees/tree')}\n`);
    const evil = path(join(root, 'evil'));
    expect(await gitCommonDirectory(evil)).toEqual({
      refused: expect.stringContaining('does not point back'),
    });
    await writeFile(join(root, 'evil/.git'), `gitdir: ${git}\n`);
    expect(await gitCommonDirectory(evil)).toEqual({
      refused: expect.stringContaining('does not point back'),
    });
    await writeFile(join(root, 'evil/.git'), 'gitdir: /does/not/exist\n');
    expect(await gitCommonDirectory(evil)).toEqual({ refused: expect.stringContaining('does not exist') });
  });

  it('S17: a commondir that a session rewrote mounts nothing else', async () => {
    const git = await repository('main/.git');
    const project = await worktree(git);
    const other = await repository('secret/.git');
    await writeFile(join(git, 'worktrees/tree/commondir'), `${other}\n`);
    expect(await gitCommonDirectory(project)).toHaveProperty('refused');
  });

  it('S17: a git directory planted inside the project, pointing out, mounts nothing', async () => {
    const project = path(join(root, 'p'));
    await mkdir(join(project, 'fake'), { recursive: true });
    await writeFile(join(project, '.git'), 'gitdir: fake\n');
    await writeFile(join(project, 'fake/commondir'), `${root}\n`);
    await writeFile(join(project, 'fake/gitdir'), `${project}/.git\n`);
    expect(await gitCommonDirectory(project)).toBeUndefined();
  });

  it('S17: a .git that is a link is not followed, and linked hooks are not mounted', async () => {
    const git = await repository('main/.git');
    await mkdir(join(root, 'p/.git'), { recursive: true });
    await symlink(join(git, 'hooks'), join(root, 'p/.git/hooks'));
    expect(await gitHooksDirectory(path(join(root, 'p')))).toBeUndefined();
    await worktree(git);
    await mkdir(join(root, 'q'));
    await symlink(join(root, 'tree/.git'), join(root, 'q/.git'));
    expect(await gitCommonDirectory(path(join(root, 'q')))).toBeUndefined();
  });

  it("S17: a submodule's git directory is mounted if its core.worktree is this project", async () => {
    const git = await repository('super/.git/modules/sub');
    const project = path(join(root, 'super/sub'));
    await mkdir(project);
    await writeFile(join(project, '.git'), 'gitdir: ../.git/modules/sub\n');
    await writeFile(
      join(git, 'config'),
      '[core]\n\tbare = false\n\tworktree = ../../../sub\n[remote "origin"]\n\turl = x\n',
    );
    expect(await gitCommonDirectory(project)).toEqual({ directory: git });
    await writeFile(
      join(git, 'config'),
      '[core]\n\tworktree = ../../../other\n[other "core"]\n\tworktree = ../../../sub\n',
    );
    expect(await gitCommonDirectory(project)).toHaveProperty('refused');
  });
});
