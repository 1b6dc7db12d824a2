import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { eventually } from '../setup/look.ts';
import { terminal } from '../setup/terminal.ts';

let here: Installation;
let project: string;
const agents: number[] = [];

beforeAll(async () => {
  here = await installation();
  project = here.project();
});

afterAll(async () => {
  for (const pid of agents) process.kill(pid);
  await here.cleanup();
  expect(await here.leftovers()).toEqual([]);
});

/** A real agent with one key, as a login would start it. */
async function agent(comment: string): Promise<{ socket: string; key: string }> {
  const [socket, key] = [join(here.directory, `${comment}.sock`), join(here.directory, comment)];
  const { stdout } = await execa('ssh-agent', ['-s', '-a', socket]);
  agents.push(Number(/SSH_AGENT_PID=(\d+)/.exec(stdout)?.[1]));
  await execa('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', comment, '-f', key]);
  await execa('ssh-add', ['-q', key], { env: { SSH_AUTH_SOCK: socket } });
  return { socket, key };
}

const home = () => here.env.HOME ?? '';
/** Of this installation: another file's run beside these. */
const relayProcesses = (): number[] => {
  const { stdout } = spawnSync('pgrep', ['-f', `__relay ${here.configDirectory}`]);
  return stdout.toString().split('\n').filter(Boolean).map(Number);
};
const relaysAre = (count: number) =>
  eventually(`${count} relay processes`, async () => relayProcesses().length === count);
const ask = (host: string) =>
  `printf 'protocol=https\\nhost=${host}\\n\\n' | GIT_TERMINAL_PROMPT=0 git credential fill`;

describe('S10: credentials of the user, by relay', () => {
  it('S10: git in the sandbox commits as the user, and signs with a key that is only in the user’s agent', async () => {
    const { socket, key } = await agent('first');
    writeFileSync(
      join(home(), '.gitconfig'),
      `[user]\n\tname = Ada\n\temail = ada@example.org\n\tsigningkey = ${key}\n[gpg]\n\tformat = ssh\n[commit]\n\tgpgsign = true\n`,
    );
    const script = `set -e; git init -q .; echo a > a; git add a; git commit -qm one; git log -1 --format='%an <%ae>'
      echo "ada@example.org $(git config user.signingkey | sed 's/^key:://')" > /tmp/signers
      git -c gpg.ssh.allowedSignersFile=/tmp/signers log -1 --format=%G?; git config --global user.name Own; git config user.name`;
    const result = await here.run(['shell', project, '--ssh-agent', '--', 'bash', '-c', script], {
      env: { SSH_AUTH_SOCK: socket },
    });
    // What the user sets in the sandbox goes before what is handed in.
    expect(result).toMatchObject({ exitCode: 0, stdout: 'Ada <ada@example.org>\nG\nOwn\n' });
  });

  it('S10: the agent is there for later programs too, and again after the connection was lost', async () => {
    const list = () => here.run(['shell', project, '--', 'ssh-add', '-l']);
    expect((await list()).stdout).toContain('first');
    await here.run(['shell', project, '--', 'pkill', '-f', 'socat.*STDIO']);
    await eventually('the relay again', async () => (await list()).stdout.includes('first'));
    const second = await agent('second');
    await here.run(['shell', project, '--ssh-agent', '--', 'true'], {
      env: { SSH_AUTH_SOCK: second.socket },
    });
    expect((await list()).stdout).toContain('second');
  });

  it('rule 8: what runs in the sandbox cannot empty, lock or extend the user’s agent', async () => {
    const own = await agent('kept');
    const attack = 'ssh-add -D; ssh-add -x </dev/null; ssh-add -s /usr/lib/x.so </dev/null; ssh-add -l';
    const result = await here.run(['shell', project, '--ssh-agent', '--', 'sh', '-c', attack], {
      env: { SSH_AUTH_SOCK: own.socket },
    });
    expect(result.stdout).toContain('kept');
    const left = await execa('ssh-add', ['-l'], { env: { SSH_AUTH_SOCK: own.socket } });
    expect(left.stdout).toContain('kept');
  });

  it('S10: the credential helper answers for remotes that the user agreed to, each question by itself, and stores nothing', async () => {
    const asked = join(here.directory, 'asked');
    const helper = join(here.directory, 'helper');
    writeFileSync(
      helper,
      `#!/bin/sh\n[ "$1" = get ] || { echo "$1" >>${asked}; exit; }\ncat >>${asked}\necho username=ada\necho password=s3cret\n`,
      {
        mode: 0o755,
      },
    );
    writeFileSync(join(home(), '.gitconfig'), `[credential]\n\thelper = ${helper}\n`);
    await here.run([
      'shell',
      project,
      '--',
      'git',
      'remote',
      'add',
      'origin',
      'https://git.example.org/x.git',
    ]);
    // Once on a terminal; what a session adds to the remotes later needs an answer of its own.
    const words = ['shell', project, '--git-credentials', '--', 'true'];
    const refused = await here.run(words);
    expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
    expect(refused.stderr).toContain('--git-credential-hosts git.example.org allows it');
    const asking = terminal(process.execPath, [here.cli, ...words], {
      env: here.env,
      cwd: here.directory,
      columns: 240,
    });
    await asking.shows('credentials for git.example.org, the host of a remote? [y/N]');
    asking.type('y\r');
    expect(await asking.exited()).toBe(0);
    await here.run(['exec', project, '--', 'git', 'remote', 'add', 'evil', 'https://evil.example/x.git']);
    const script = `${ask('git.example.org')}; ${ask('evil.example')}; printf 'protocol=https\\nhost=git.example.org\\nusername=ada\\npassword=new\\n\\n' | git credential approve`;
    const result = await here.run(['shell', project, '--git-credentials', '--', 'bash', '-c', script]);
    expect(result.stdout).toBe('protocol=https\nhost=git.example.org\nusername=ada\npassword=s3cret\n');
    expect(result.stderr).toContain('git in the sandbox gets your credentials for git.example.org\n');
    expect(result.stderr).toContain('no credentials for evil.example without your consent');
    expect(readFileSync(asked, 'utf8')).toBe('protocol=https\nhost=git.example.org\n');
    const found = await here.run([
      'shell',
      project,
      '--',
      'grep',
      '-rl',
      's3cret',
      '/home/pi',
      '/run',
      '/tmp',
    ]);
    expect(found.stdout).toBe('');
  });

  it('S10: a no is remembered: the same host is not asked for again, and what gives it is said', async () => {
    const words = ['shell', project, '--git-credentials', '--', 'true'];
    const start = () =>
      terminal(process.execPath, [here.cli, ...words], { env: here.env, cwd: here.directory, columns: 240 });
    const asking = start();
    await asking.shows('credentials for evil.example, the host of a remote? [y/N]');
    asking.type('n\r');
    expect(await asking.exited()).toBe(0);
    const again = start();
    await again.shows('no credentials for evil.example, as you answered; --git-credential-hosts');
    expect(await again.exited()).toBe(0);
  });

  it('S10: hosts that the user names stand in place of the remotes’', async () => {
    const env = { PI_SANDBOX_GIT_CREDENTIAL_HOSTS: 'git.example.org' };
    const result = await here.run(
      [
        'shell',
        project,
        '--git-credential-hosts',
        'other.example',
        '--',
        'bash',
        '-c',
        `${ask('git.example.org')}; ${ask('other.example')}`,
      ],
      { env },
    );
    expect(result.stdout).toBe('protocol=https\nhost=other.example\nusername=ada\npassword=s3cret\n');
  });

  it('S10: a relay that was killed is there again with the next program, as it was', async () => {
    await relaysAre(2);
    for (const pid of relayProcesses()) process.kill(pid, 'SIGKILL');
    await relaysAre(0);
    const script = `ssh-add -l; ${ask('other.example')}`;
    const result = await here.run(['shell', project, '--', 'bash', '-c', script]);
    expect(result.stdout).toContain('kept');
    expect(result.stdout).toContain('password=s3cret\n');
    expect(relayProcesses()).toHaveLength(2);
  });

  it('S10: a start that joins without the option leaves commits signed', async () => {
    const script = 'cd "$(mktemp -d)"; git init -q .; git commit -q --allow-empty -m x; git cat-file -p HEAD';
    writeFileSync(
      join(home(), '.gitconfig'),
      `[user]\n\tname = Ada\n\temail = ada@example.org\n\tsigningkey = ${join(here.directory, 'kept')}\n[gpg]\n\tformat = ssh\n[commit]\n\tgpgsign = true\n[credential]\n\thelper = ${join(here.directory, 'helper')}\n`,
    );
    const { stdout } = await here.run(['shell', project, '--', 'bash', '-c', script]);
    expect(stdout).toContain('BEGIN SSH SIGNATURE');
  });

  it('S10, S15: both go on after a restart', async () => {
    expect(await here.run(['restart', project])).toMatchObject({ exitCode: 0, stderr: '' });
    const script = `ssh-add -l; ${ask('other.example')}; ${ask('git.example.org')}`;
    const result = await here.run(['shell', project, '--', 'bash', '-c', script]);
    expect(result.stdout).toContain('kept');
    expect(result.stdout.match(/password=s3cret/g)).toHaveLength(1);
  });

  it('S10: another sandbox reaches neither, and no other user of this machine does', async () => {
    const script = 'ls /run/user/*/pi-sandbox; ssh-add -l; find / -name "*.sock" 2>/dev/null | sort';
    const other = await here.run(['shell', here.project(), '--', 'sh', '-c', script]);
    expect(other.stdout).not.toContain('ssh-agent');
    expect(other.stdout).not.toContain('git-credentials');
    expect(other.stdout).not.toContain('second');
    const relays = join(here.configDirectory, 'relays');
    expect(statSync(relays).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(relays)) expect(statSync(join(relays, name)).mode & 0o777).toBe(0o600);
    const sockets = await here.run([
      'shell',
      project,
      '--',
      'sh',
      '-c',
      'stat -c "%a %n" /run/user/*/pi-sandbox /run/user/*/pi-sandbox/*.sock',
    ]);
    for (const line of sockets.stdout.trimEnd().split('\n')) expect(line).toMatch(/^[67]00 /);
  });

  it('S10: two first starts at once are served both, by one process', async () => {
    const both = here.project();
    const env = { SSH_AUTH_SOCK: join(here.directory, 'kept.sock') };
    const list = () => here.run(['shell', both, '--ssh-agent', '--', 'ssh-add', '-l'], { env });
    for (const { stdout } of await Promise.all([list(), list()])) expect(stdout).toContain('kept');
    // The two of the other sandbox, and one more as soon as the second has seen that it is not needed.
    await relaysAre(3);
    await here.run(['stop', both]);
  });

  it('S10: both end with the sandbox and leave nothing', async () => {
    await relaysAre(2);
    await here.run(['stop', project]);
    await relaysAre(0);
    expect(readdirSync(join(here.configDirectory, 'relays'))).toEqual([]);
  });

  it('S10: without an agent, or without a host to answer for, nothing starts', async () => {
    const cases: [string[], NodeJS.ProcessEnv, RegExp][] = [
      [['--ssh-agent'], { SSH_AUTH_SOCK: undefined }, /SSH_AUTH_SOCK is not set/],
      [['--ssh-agent'], { SSH_AUTH_SOCK: '/dev/null' }, /SSH_AUTH_SOCK is \/dev\/null, which is no socket/],
      [['--git-credentials'], {}, /no remote with https/],
    ];
    const empty = here.project();
    for (const [words, env, message] of cases) {
      const result = await here.run(['shell', empty, ...words, '--', 'true'], { env });
      expect(result).toMatchObject({ exitCode: 2, stdout: '' });
      expect(result.stderr).toMatch(message);
    }
    expect((await here.leftovers()).filter((line) => line.startsWith('container '))).toHaveLength(1);
  });
});
