import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gitConfigText, gitIdentity } from '../../../src/cli/sandbox/git-identity.ts';

let home = '';
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'identity-')));
});
afterEach(() => rmSync(home, { recursive: true }));

function put(path: string, content: string): string {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

const identity = (project = 'code/shop', canSign = false) =>
  gitIdentity({ project: join(home, project), home, env: { PATH: process.env.PATH }, canSign });

describe('S10: as whom git commits', () => {
  it('S10: name and email of the user’s own configuration, and nothing else of it', async () => {
    put(
      '.gitconfig',
      '[user]\n\tname = "Ada \\"A\\" L"\n\temail = ada@example.org\n[alias]\n\tx = !evil\n[credential]\n\thelper = store\n',
    );
    expect(await identity()).toEqual({
      values: { 'user.name': 'Ada "A" L', 'user.email': 'ada@example.org' },
      warnings: [],
    });
  });

  it('S10: another identity for the projects of a directory, as git itself chooses it', async () => {
    put(
      '.gitconfig',
      '[user]\n\tname = Ada\n\temail = ada@home.example\n[includeIf "gitdir:~/work/"]\n\tpath = .gitconfig-work\n' +
        '[includeIf "gitdir:*/acme*/**"]\n\tpath = ~/acme.inc\n[includeIf "gitdir/i:~/CODE/Tools/"]\n\tpath = tools.inc\n',
    );
    put(
      '.gitconfig-work',
      '[user]\n\temail = ada@work.example\n[includeIf "gitdir:~/work/deep/"]\n\tpath = deep.inc\n',
    );
    put('deep.inc', '[user]\n\temail = ada@deep.example\n');
    put('tools.inc', '[user]\n\temail = ada@tools.example\n');
    put('acme.inc', '[user]\n\temail = ada@acme.example\n');
    for (const project of [
      'code/shop',
      'work/shop',
      'work/deep/x',
      'code/tools/y',
      'workshop',
      'clients/acme-1/z',
    ]) {
      const directory = join(home, project);
      execFileSync('git', ['init', '-q', directory]);
      const env = { PATH: process.env.PATH, HOME: home };
      // git's own answer, in the real project.
      const expected = execFileSync('git', ['-C', directory, 'config', 'user.email'], {
        env,
        encoding: 'utf8',
      });
      expect([project, (await identity(project)).values['user.email']]).toEqual([project, expected.trim()]);
    }
  });

  it('rule 8: a project’s own configuration is not looked at', async () => {
    put('code/shop/.git/config', '[user]\n\tname = evil\n');
    spawnSync('mkfifo', [join(home, 'code/shop/.git/HEAD')]);
    expect(await identity()).toEqual({ values: {}, warnings: [] });
  });

  it('S10: a signing key of SSH travels as itself, and commits are signed only where the agent is', async () => {
    put('.ssh/id.pub', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 me@host\n');
    put(
      '.gitconfig',
      '[user]\n\tsigningkey = ~/.ssh/id\n[gpg]\n\tformat = ssh\n[commit]\n\tgpgsign = true\n',
    );
    const key = 'key::ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 me@host';
    expect((await identity()).values).toEqual({ 'gpg.format': 'ssh', 'user.signingkey': key });
    expect((await identity('code/shop', true)).values).toMatchObject({ 'commit.gpgsign': 'true' });
  });

  it('S10: a private key’s own text is never taken', async () => {
    put('.ssh/id', '-----BEGIN OPENSSH PRIVATE KEY-----\nsecret\n');
    put('.gitconfig', '[user]\n\tsigningkey = ~/.ssh/id\n[gpg]\n\tformat = ssh\n');
    const { values, warnings } = await identity();
    expect(values).toEqual({ 'gpg.format': 'ssh' });
    expect(warnings).toEqual([expect.stringContaining('public key cannot be read')]);
  });

  it('S10: without git or without a configuration there is nothing, and nothing said', async () => {
    expect(await identity()).toEqual({ values: {}, warnings: [] });
    const none = gitIdentity({ project: home, home, env: { PATH: '/nowhere' }, canSign: false });
    expect(await none).toEqual({ values: {}, warnings: [] });
  });

  it('S10: what is handed in reads back as it was', () => {
    const values = { 'user.name': 'a "b" \\ c\td # e ; f', 'user.email': 'x@y', 'gpg.format': 'ssh' };
    const file = put('out', gitConfigText(values));
    for (const [key, value] of Object.entries(values))
      expect(execFileSync('git', ['config', '-f', file, key], { encoding: 'utf8' })).toBe(`${value}\n`);
  });
});
