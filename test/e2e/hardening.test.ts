import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { eventually, inspect, sandboxOf } from '../setup/look.ts';

let here: Installation;
let project: string;

beforeAll(async () => {
  here = await installation();
  here.configure('.env', 'DOMAINS=work,private\nDEFAULT_DOMAIN=work\n');
  project = here.project();
  await here.run(['shell', project, '--', 'true']);
});

afterAll(async () => {
  await here.cleanup();
  expect(await here.leftovers()).toEqual([]);
});

const shellIn = (where: string, script: string, options: readonly string[] = []) =>
  here.run(['shell', ...options, where, '--', 'sh', '-c', script]);

describe('S17: the walls of a sandbox', () => {
  it('S17: the engine was told all of them', async () => {
    const { HostConfig, Config, Mounts } = await inspect(here, await sandboxOf(here, project));
    expect(HostConfig).toMatchObject({
      CapDrop: ['ALL'],
      CapAdd: null,
      ReadonlyRootfs: true,
      PidsLimit: 2_048,
      Privileged: false,
      PidMode: '',
      IpcMode: 'private',
      UsernsMode: '',
      PublishAllPorts: false,
      LogConfig: { Type: 'none' },
    });
    for (const none of [HostConfig.Binds, HostConfig.Devices, HostConfig.PortBindings]) {
      expect(Object.keys(none ?? {})).toEqual([]);
    }
    expect(HostConfig.SecurityOpt).toEqual([expect.stringMatching(/^no-new-privileges/)]);
    expect(HostConfig.Memory).toBeGreaterThan(0);
    expect(HostConfig.Memory).toBeLessThanOrEqual(4 * 2 ** 30);
    expect(HostConfig.MemorySwap).toBe(HostConfig.Memory);
    expect(HostConfig.NetworkMode).not.toMatch(/^(host|container:)/);
    expect(Config.User).toBe(`${here.owner.uid}:${here.owner.gid}`);
    const binds = Mounts.filter(({ Type }: { Type: string }) => Type === 'bind');
    expect(binds.map(({ Source }: { Source: string }) => Source)).toEqual([project]);
  });

  it('S17: from inside: no capability, no new privileges, a system-call filter', async () => {
    const { stdout } = await shellIn(
      project,
      'grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status; cat /proc/1/comm',
    );
    expect(stdout).toMatch(/CapInh:\s+0+\nCapPrm:\s+0+\nCapEff:\s+0+\nCapBnd:\s+0+\nCapAmb:\s+0+\n/);
    expect(stdout).toMatch(/NoNewPrivs:\s+1/);
    expect(stdout).toMatch(/Seccomp:\s+2/);
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('tini');
  });

  it('S17: the root is read-only, and no engine can be reached', async () => {
    const script =
      'touch /x /etc/x /usr/x /opt/pi-sandbox/x /home/x; ls /var/run/docker.sock /run/docker.sock; env | grep DOCKER';
    const result = await shellIn(project, script);
    expect(result.stdout).toBe('');
    expect(result.stderr.match(/Read-only file system/g)).toHaveLength(5);
  });

  it('S17: /tmp runs programs but no setuid ones, and is bounded; the other memory is closed to others', async () => {
    const { stdout } = await shellIn(
      project,
      'grep tmpfs /proc/mounts; printf "#!/bin/sh\\necho ran\\n" > /tmp/x; chmod +x /tmp/x; /tmp/x',
    );
    const mount = (path: string) => stdout.split('\n').find((line) => line.split(' ')[1] === path) ?? '';
    expect(mount('/tmp')).toMatch(/rw,nosuid,nodev,relatime,size=1048576k/);
    expect(mount('/tmp')).not.toContain('noexec');
    const { uid, gid } = here.owner;
    const closed = new RegExp(`nosuid,nodev,noexec.*mode=700,uid=${uid},gid=${gid}`);
    expect(mount('/run/pi-session')).toMatch(closed);
    expect(mount(`/run/user/${uid}`)).toMatch(closed);
    expect(stdout).toContain('ran\n');
  });

  it('S17: processes that end are reaped', async () => {
    await shellIn(project, 'for i in 1 2 3 4 5; do (sh -c "sleep 0.1 &" &); done; sleep 1');
    expect((await shellIn(project, 'ps -eo stat | grep -c Z')).stdout).toBe('0\n');
  });

  it('S17: the process limit holds, and the sandbox survives it', async () => {
    const small = here.project();
    const env = { PI_SANDBOX_PIDS: '64' };
    const fork = 'i=0; while [ $i -lt 100 ]; do sleep 5 & i=$((i + 1)); done; wait';
    const result = await here.run(['shell', small, '--', 'sh', '-c', fork], { env });
    expect(result.stderr).toMatch(/fork/i);
    await eventually(
      'room for a process',
      async () => (await shellIn(small, 'echo alive')).stdout === 'alive\n',
    );
    expect((await here.run(['stop', small])).exitCode).toBe(0);
  });
});

describe('S17: projects that are refused', () => {
  it.each(['/', '/etc', '/usr', '/home', '/tmp', '/proc', '/var/lib/dpkg'])('S17: %s', async (path) => {
    const result = await shellIn(path, 'true');
    expect(result.exitCode).toBe(2);
    expect(result.stderr).toContain(path);
  });

  it('S17: the home directory, what holds the configuration, and what holds the engine’s socket', async () => {
    for (const path of [
      join(here.directory, 'home'),
      here.directory,
      here.configDirectory,
      '/run',
      '/var/run',
    ]) {
      const result = await shellIn(path, 'true');
      expect(result).toMatchObject({ exitCode: 2, stdout: '' });
      expect(result.stderr).toContain('is refused');
    }
  });

  it('S17: --force takes what is merely unwise', async () => {
    const result = await here.run(['shell', '--force', join(here.directory, 'home'), '--', 'pwd'], {
      env: { PI_SANDBOX_SANDBOX_UID: String(here.owner.uid), PI_SANDBOX_SANDBOX_GID: String(here.owner.gid) },
    });
    expect(result).toMatchObject({ exitCode: 0, stdout: `${join(here.directory, 'home')}\n` });
  });

  it('S14: a project that is not there, or no directory, is named', async () => {
    writeFileSync(join(here.directory, 'file'), '');
    for (const path of [join(here.directory, 'nowhere'), join(here.directory, 'file')]) {
      const result = await shellIn(path, 'true');
      expect(result.exitCode).toBe(2);
      expect(result.stderr).toContain(path);
    }
  });
});

describe('S17: projects in odd places', () => {
  it.runIf(process.getuid?.() === 0)('S17: below /home/pi, leaving no mount point behind', async () => {
    const existed = existsSync('/home/pi');
    mkdirSync('/home/pi', { recursive: true });
    const root = mkdtempSync('/home/pi/e2e-');
    try {
      const odd = join(root, 'shop');
      mkdirSync(odd);
      execFileSync('chown', ['-R', '1000:1000', root]);
      const result = await shellIn(
        odd,
        'pwd; touch made; cat ~/.bashrc | head -c 1; ls -A /home/pi/.pi/agent/sessions; echo kept > ~/kept',
      );
      expect(result).toMatchObject({ exitCode: 0, stderr: '' });
      expect(result.stdout).toContain(odd);
      expect(existsSync(join(odd, 'made'))).toBe(true);
      expect((await shellIn(project, 'ls -A /home/pi; cat ~/kept')).stdout).not.toContain('e2e-');
      expect((await here.run(['start', '--demo', odd, '--', '-p', 'run pwd'])).stdout).toContain(odd);
    } finally {
      await here.run(['stop', '--all']);
      rmSync(root, { recursive: true, force: true });
      if (!existed && readdirSync('/home/pi').length === 0) rmSync('/home/pi', { recursive: true });
    }
  });

  it('S17: below /tmp', async () => {
    const root = mkdtempSync(join(tmpdir(), 'pi-e2e-'));
    try {
      const odd = join(root, 'shop');
      mkdirSync(odd);
      execFileSync('chmod', ['-R', '0777', root]);
      if (process.getuid?.() === 0) execFileSync('chown', ['1000:1000', odd]);
      const result = await shellIn(odd, 'pwd; touch made /tmp/scratch');
      expect(result).toMatchObject({ exitCode: 0, stdout: `${odd}\n`, stderr: '' });
      expect(existsSync(join(odd, 'made'))).toBe(true);
      await here.run(['stop', odd]);
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});

describe('S17: git', () => {
  const git = (where: string, ...args: string[]): string => {
    const options = ['-c', 'safe.directory=*', '-c', 'user.name=T', '-c', 'user.email=t@example.com'];
    return execFileSync('git', [...options, '-C', where, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  };
  const give = (path: string): void => {
    if (process.getuid?.() === 0) execFileSync('chown', ['-R', '1000:1000', path]);
  };
  function repository(): string {
    const made = here.project(undefined, 'repo');
    git(made, 'init', '-q');
    git(made, 'commit', '-q', '--allow-empty', '-m', 'first');
    give(made);
    return made;
  }

  it('S17: a worktree’s git directory is mounted too, and said so', async () => {
    const main = repository();
    const tree = join(dirname(main), 'tree');
    git(main, 'worktree', 'add', '-q', tree);
    give(dirname(main));
    const result = await shellIn(
      tree,
      'git log --format=%s && git commit -q --allow-empty -m second && git log --format=%s -1',
      [
        '-e',
        'GIT_AUTHOR_NAME=T',
        '-e',
        'GIT_AUTHOR_EMAIL=t@example.com',
        '-e',
        'GIT_COMMITTER_NAME=T',
        '-e',
        'GIT_COMMITTER_EMAIL=t@example.com',
      ],
    );
    expect(result).toMatchObject({ exitCode: 0, stdout: 'first\nsecond\n' });
    expect(result.stderr).toContain(`mounting the project's git directory ${main}/.git too`);
    expect((await shellIn(tree, `touch ${main}/.git/hooks/pre-commit`)).exitCode).not.toBe(0);
  });

  it('S17: a planted gitdir mounts nothing', async () => {
    const victim = repository();
    const planted = here.project();
    writeFileSync(join(planted, '.git'), `gitdir: ${victim}/.git\n`);
    const result = await shellIn(planted, `ls ${victim}/.git 2>/dev/null; true`);
    expect(result).toMatchObject({ exitCode: 0, stdout: '' });
    expect(result.stderr).toContain('does not point back to this project');
  });

  it('S17: hooks are read-only, also when they are a link elsewhere', async () => {
    const made = repository();
    const refused = await shellIn(made, 'echo evil > .git/hooks/pre-commit');
    expect(refused.exitCode).not.toBe(0);
    expect(refused.stderr).toContain('Read-only');
    await here.run(['stop', made]);
    const open = await here.run(['shell', made, '--', 'sh', '-c', 'echo fine > .git/hooks/pre-commit'], {
      env: { PI_SANDBOX_PROTECT_GIT: 'off' },
    });
    expect(open.exitCode).toBe(0);
    expect(open.stderr).toContain('git hook pre-commit');
    const linked = repository();
    rmSync(join(linked, '.git/hooks'), { recursive: true });
    symlinkSync('/etc', join(linked, '.git/hooks'));
    const { Mounts } = await (async () => {
      await shellIn(linked, 'true');
      return inspect(here, await sandboxOf(here, linked));
    })();
    expect(JSON.stringify(Mounts)).not.toContain('/etc');
  });

  it('S17: the exit line names what the host’s git or editor would execute', async () => {
    const made = repository();
    const script =
      'git config core.hooksPath evil; git config alias.x "!evil"; mkdir -p .vscode; echo {} > .vscode/tasks.json; echo x > .envrc';
    const result = await shellIn(made, script);
    for (const name of ['core.hookspath', 'alias.x', '.vscode/tasks.json', '.envrc']) {
      expect(result.stderr).toContain(
        `may execute: ${name.includes('.x') || name.startsWith('core') ? 'git config ' : ''}${name}`,
      );
    }
    expect((await shellIn(made, 'git config user.name me; echo hi > file')).stderr).toBe('');
  });
});
