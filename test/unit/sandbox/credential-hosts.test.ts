import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { CanonicalPath, loadConfig } from '../../../src/cli/config/index.ts';
import { credentialHosts, type HostChoice, remoteHosts } from '../../../src/cli/sandbox/credential-hosts.ts';
import { UsageError } from '../../../src/lib/errors.ts';

let directory = '';
let project: CanonicalPath;
let questions: string[] = [];

beforeEach(() => {
  questions = [];
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'hosts-')));
  const made = directory;
  onTestFinished(() => rmSync(made, { recursive: true }));
  project = CanonicalPath.parse(join(directory, 'shop'));
  mkdirSync(join(project, '.git'), { recursive: true });
});

function remotes(...hosts: string[]): void {
  const lines = hosts.map((host, at) => `[remote "r${at}"]\n\turl = https://${host}/x.git\n`);
  writeFileSync(join(project, '.git/config'), lines.join(''));
}

/** What a start asks and gets; `agree` answers a question, and without it there is no terminal. */
async function hostsFor(
  agree?: (question: string) => boolean,
  { named, env = {} }: { named?: HostChoice['named']; env?: Record<string, string> } = {},
): Promise<readonly string[]> {
  const config = await loadConfig({
    env: { PI_SANDBOX_CONFIG_DIR: join(directory, 'config'), ...env },
    home: directory,
  });
  const ask = async (question: string): Promise<boolean> => {
    questions.push(question);
    return agree?.(question) === true;
  };
  const choice = { named, ask: agree === undefined ? undefined : ask };
  return credentialHosts(config, { canonical: project, display: project }, choice);
}

describe('S10: consent to give credentials', () => {
  it('S10: is asked for once for each host of the project’s remotes, and remembered', async () => {
    remotes('a.example', 'b.example:8443');
    expect(await hostsFor(() => true)).toEqual(['a.example', 'b.example:8443']);
    expect(questions).toEqual([
      `May git in the sandbox of ${project} get your credentials for a.example, the host of a remote?`,
      `May git in the sandbox of ${project} get your credentials for b.example:8443, the host of a remote?`,
    ]);
    expect(await hostsFor()).toEqual(['a.example', 'b.example:8443']);
    expect(questions).toHaveLength(2);
    expect(readFileSync(join(directory, 'config/consent.json'), 'utf8')).toContain('"credential-host"');
  });

  it('S10: of one host is none for a remote that a session adds, nor for another port', async () => {
    remotes('a.example');
    await hostsFor(() => true);
    remotes('a.example', 'evil.example', 'a.example:8443');
    expect(await hostsFor()).toEqual(['a.example']);
    expect(await hostsFor((question) => question.includes(':8443'))).toEqual(['a.example', 'a.example:8443']);
  });

  it('S10: of one project is none for another', async () => {
    remotes('a.example');
    await hostsFor(() => true);
    project = CanonicalPath.parse(join(directory, 'other'));
    mkdirSync(join(project, '.git'), { recursive: true });
    remotes('a.example');
    await expect(hostsFor()).rejects.toThrow('not agreed to give credentials for a.example');
  });

  it('S10: without a terminal and without consent nothing starts, and what allows it is said', async () => {
    remotes('a.example', 'b.example');
    await expect(hostsFor()).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('a.example, b.example'),
      hint: expect.stringMatching(/--git-credential-hosts a\.example,b\.example .*GIT_CREDENTIAL_HOSTS/),
    });
  });

  it('S10: that is refused is not asked for again, and a host that is named gets it all the same', async () => {
    remotes('a.example');
    expect(await hostsFor(() => false)).toEqual([]);
    expect(await hostsFor(() => true)).toEqual([]);
    expect(questions).toHaveLength(1);
    expect(await hostsFor(undefined, { named: 'a.example' })).toEqual(['a.example']);
    remotes('a.example', 'b.example');
    expect(await hostsFor(() => true)).toEqual(['b.example']);
  });

  it('S10: hosts that the user names need no question, whatever the remotes are', async () => {
    remotes('evil.example');
    const env = { PI_SANDBOX_GIT_CREDENTIAL_HOSTS: 'a.example' };
    expect(await hostsFor(undefined, { env })).toEqual(['a.example']);
    expect(await hostsFor(undefined, { env, named: 'b.example,c.example' })).toEqual([
      'b.example',
      'c.example',
    ]);
    await expect(hostsFor(undefined, { named: 'https://a.example' })).rejects.toThrow(
      '--git-credential-hosts is "https://a.example"',
    );
  });

  it('rule 7: is not asked for without end', async () => {
    remotes(...Array.from({ length: 21 }, (_, at) => `h${at}.example`));
    await expect(hostsFor(() => true)).rejects.toThrow(UsageError);
    expect(questions).toEqual([]);
  });
});

describe('S10: the hosts of a project’s remotes', () => {
  it('S10: are those with http, once each', async () => {
    writeFileSync(
      join(project, '.git/config'),
      '[remote "a"]\n\turl = https://user@Git.Example/x\n\tpushurl = https://git.example/x\n[remote "b"]\n\turl = git@ssh.example:x\n' +
        '[remote "c"]\n\turl = "https://c.example:8443/y.git"\n[branch "x"]\n\turl = https://no.example/\n',
    );
    expect(await remoteHosts(project)).toEqual(['c.example:8443', 'git.example']);
  });

  it('rule 8: a configuration that is a link out of the project is not read', async () => {
    symlinkSync('/etc/passwd', join(project, '.git/config'));
    expect(await remoteHosts(project)).toEqual([]);
  });
});
