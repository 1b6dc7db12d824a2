/** A day of work with one sandbox, from the first start to taking everything away, as one script on each engine. */
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ENGINES, readyEngine } from '../setup/engines.ts';
import { type GitServer, gitServer } from '../setup/git-server.ts';
import { type Installation, installation } from '../setup/installation.ts';
import { sandboxes } from '../setup/look.ts';

describe.each(ENGINES)('S9, S10, S14, S15: a day of work on %s', (kind) => {
  let here: Installation;
  let project: string;
  let agent: { socket: string; key: string; pid: number };
  let server: GitServer | undefined;
  let bare: string;

  beforeAll(async () => {
    here = await installation(await readyEngine(kind, inject('e2e')));
    project = here.project();
    bare = join(here.directory, 'bare.git');
    await execa('git', ['init', '--quiet', '--bare', '--initial-branch=main', bare]);
    writeFileSync(
      join(here.env.HOME ?? '', '.gitconfig'),
      '[user]\n\tname = Ada\n\temail = ada@example.org\n',
    );
    const [socket, key] = [join(here.directory, 'agent.sock'), join(here.directory, 'key')];
    const { stdout } = await execa('ssh-agent', ['-s', '-a', socket]);
    agent = { socket, key, pid: Number(/SSH_AGENT_PID=(\d+)/.exec(stdout)?.[1]) };
    await execa('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    await execa('ssh-add', ['-q', key], { env: { SSH_AUTH_SOCK: socket } });
  });

  afterAll(async () => {
    server?.close();
    if (agent !== undefined) process.kill(agent.pid);
    await here.cleanup();
    expect(await here.leftovers()).toEqual([]);
  });

  const inside = (...script: string[]) => here.run(['exec', project, '--', 'bash', '-ec', script.join('\n')]);

  it('S14: morning: pi answers', async () => {
    const result = await here.run(['start', '--demo', '--ssh-agent', project, '--', '-p', 'run id -u'], {
      env: { SSH_AUTH_SOCK: agent.socket },
    });
    expect(result.exitCode, result.stderr).toBe(0);
    expect(result.stdout).toContain(String(here.owner.uid));
  });

  it('S10: commits are the user’s, and a push goes through the user’s agent', async () => {
    const gateway = (
      await inside('awk \'$2 == "00000000" { print $3; exit }\' /proc/net/route')
    ).stdout.trim();
    const address = Buffer.from(gateway, 'hex').reverse().join('.');
    server = await gitServer(address, readFileSync(`${agent.key}.pub`, 'utf8'), bare);
    const ssh = 'ssh -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR';
    const push = await inside(
      'git init -q -b main .; echo "export const price = 1;" > price.mjs; git add price.mjs',
      'git commit -qm "Say the price"',
      `GIT_SSH_COMMAND='${ssh}' git push -q ssh://git@${address}:${server.port}/shop main`,
    );
    expect(push).toMatchObject({ exitCode: 0, stderr: '' });
    expect(server.logins()).toBe(1);
    const { stdout } = await execa('git', ['-C', bare, 'log', '-1', '--format=%an <%ae> %s', 'main']);
    expect(stdout).toBe('Ada <ada@example.org> Say the price');
    expect((await here.run(['exec', project, '--', 'find', '/home/pi', '/tmp', '-name', 'key'])).stdout).toBe(
      '',
    );
  });

  it('S10: git asks the user’s credential helper for the host that he named, and for no other', async () => {
    const helper = join(here.directory, 'helper');
    writeFileSync(helper, '#!/bin/sh\ncat >/dev/null\necho username=ada\necho password=s3cret\n', {
      mode: 0o755,
    });
    const config = join(here.env.HOME ?? '', '.gitconfig');
    writeFileSync(config, `${readFileSync(config, 'utf8')}[credential]\n\thelper = ${helper}\n`);
    const ask = (host: string) =>
      `printf 'protocol=https\\nhost=${host}\\n\\n' | GIT_TERMINAL_PROMPT=0 git credential fill 2>/dev/null || true`;
    const script = `${ask('git.example.org')}; ${ask('other.example')}`;
    const words = ['shell', project, '--git-credential-hosts', 'git.example.org', '--', 'bash', '-c', script];
    const { stdout } = await here.run(words);
    expect(stdout).toBe('protocol=https\nhost=git.example.org\nusername=ada\npassword=s3cret\n');
  });

  it('S14: a server that the agent left running is seen and reached', async () => {
    const web = "require('http').createServer((q, r) => r.end('price 1')).listen(4000, '127.0.0.1')";
    await inside(
      `(setsid node -e "${web}" >/dev/null 2>&1 &)`,
      'until curl -s -o /dev/null localhost:4000; do sleep 0.1; done',
    );
    expect((await here.run(['ports', project])).stdout).toMatch(/^4000 +127\.0\.0\.1 +- +node/m);
    const child = here.start(['forward', '0:4000', project]);
    const exit = once(child, 'exit');
    const [line] = await once(child.stdout, 'data');
    const port = /^127\.0\.0\.1:(\d+)/.exec(String(line))?.[1];
    const answer = await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(10_000) });
    expect(await answer.text()).toBe('price 1');
    child.kill('SIGINT');
    expect(await exit).toEqual([130, null]);
  });

  it('S15: a file comes out, another goes in', async () => {
    const out = join(here.directory, 'out');
    mkdirSync(out);
    await inside('echo report > /tmp/report.txt');
    expect(await here.run(['cp', `${project}:/tmp/report.txt`, out])).toMatchObject({
      exitCode: 0,
      stderr: '',
    });
    expect(readFileSync(join(out, 'report.txt'), 'utf8')).toBe('report\n');
    expect(await here.run(['cp', join(out, 'report.txt'), `${project}:~/again.txt`])).toMatchObject({
      exitCode: 0,
    });
    expect((await inside('cat ~/again.txt')).stdout).toBe('report\n');
  });

  it('S13, S15: evening: history is there, the sandbox ends, and everything can be taken away', async () => {
    const history = await here.run(['sessions', 'list', '--json']);
    expect(JSON.parse(history.stdout)).toMatchObject({ domains: [{ domain: 'default' }] });
    expect((await here.run(['stop', project])).exitCode).toBe(0);
    expect(await sandboxes(here, project)).toEqual([]);
    expect((await here.run(['reset', '--all', '--yes'])).exitCode).toBe(0);
    expect(await here.leftovers()).toEqual([]);
  });
});
