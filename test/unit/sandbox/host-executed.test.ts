import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CanonicalPath } from '../../../src/cli/config/index.ts';
import { gitConfigKeys } from '../../../src/cli/sandbox/git-config.ts';
import { changesSince, rememberHostExecuted } from '../../../src/cli/sandbox/host-executed.ts';

/** What is named after `session` has changed a project with a git directory that holds `config`. */
async function namedAfter(session: (project: string) => void, config = ''): Promise<string[]> {
  const project = realpathSync(mkdtempSync(join(tmpdir(), 'pi-sandbox-executed-')));
  onTestFinished(() => rmSync(project, { recursive: true, force: true }));
  mkdirSync(join(project, '.git/hooks'), { recursive: true });
  writeFileSync(join(project, '.git/config'), `[core]\n\tbare = false\n${config}`);
  const before = await rememberHostExecuted(CanonicalPath.parse(project));
  session(project);
  return changesSince(before);
}

describe('what a session leaves for the host to execute', () => {
  it('S17: nothing is named when nothing of it changed', async () => {
    expect(await namedAfter((project) => writeFileSync(join(project, 'a'), ''))).toEqual([]);
  });

  it('S17: a .git that leads elsewhere now, also into the project itself', async () => {
    const named = await namedAfter((project) => {
      execFileSync('mv', [join(project, '.git'), join(project, 'other')]);
      writeFileSync(join(project, '.git'), 'gitdir: ./other\n');
    });
    expect(named).toEqual(['.git']);
  });

  it('S17: a .git that was moved away, hooks and all, for another with the same content', async () => {
    const named = await namedAfter((project) => {
      execFileSync('mv', [join(project, '.git'), join(project, 'other')]);
      execFileSync('cp', ['-r', join(project, 'other'), join(project, '.git')]);
    });
    expect(named).toEqual(['.git']);
  });

  it('S17: a git init says nothing by itself', async () => {
    const project = realpathSync(mkdtempSync(join(tmpdir(), 'pi-sandbox-executed-')));
    onTestFinished(() => rmSync(project, { recursive: true, force: true }));
    const before = await rememberHostExecuted(CanonicalPath.parse(project));
    execFileSync('git', ['init', '-q', project]);
    expect(await changesSince(before)).toEqual([]);
  });

  it('S17: the configuration and hooks of submodules, also of one in another', async () => {
    const named = await namedAfter((project) => {
      for (const name of ['libs/a', 'libs/a/modules/b']) {
        mkdirSync(join(project, '.git/modules', name, 'hooks'), { recursive: true });
        writeFileSync(join(project, '.git/modules', name, 'config'), '[core]\nfsmonitor = evil\n');
      }
      writeFileSync(join(project, '.git/modules/libs/a/hooks/pre-commit'), 'evil');
    });
    expect(named).toEqual([
      'modules/libs/a/modules/b: git config core.fsmonitor',
      'modules/libs/a: git config core.fsmonitor',
      'modules/libs/a: git hook pre-commit',
    ]);
  });

  it('S17: that there are more submodules than are looked at', async () => {
    const named = await namedAfter((project) => {
      for (let at = 0; at < 60; at++)
        mkdirSync(join(project, `.git/modules/${at}/hooks`), { recursive: true });
    });
    expect(named).toEqual(['more submodules than are looked at']);
  });

  it('S17: a commondir that gives git another configuration', async () => {
    const named = await namedAfter((project) => writeFileSync(join(project, '.git/commondir'), '../evil\n'));
    expect(named).toEqual(['.git/commondir']);
  });

  it('S17: a configuration too long to be read', async () => {
    const named = await namedAfter((project) => {
      appendFileSync(join(project, '.git/config'), `#${'-'.repeat(1024 * 1024)}\n[core]\nfsmonitor = evil\n`);
    });
    expect(named).toEqual(['.git/config']);
  });

  it('S17: a change in the second line of a value', async () => {
    const alias = '[alias]\n\tx = "!echo a; \\\n echo b"\n';
    const named = await namedAfter(
      (project) => writeFileSync(join(project, '.git/config'), alias.replace('echo b', 'evil')),
      alias,
    );
    expect(named).toEqual(['git config alias.x']);
  });

  it('S17: a backslash at the end of a comment hides no key', () => {
    expect(gitConfigKeys('[core]\n# \\\nfsmonitor = evil\n')).toContainEqual(['core.fsmonitor', '\nevil']);
  });

  it.each([
    ['a second heading on one line', '[x][core]fsmonitor = evil\n'],
    ['a heading inside the value before it', '[core]\nx = a\\\n[junk]\nfsmonitor = evil\n'],
    ['a heading inside quotes before it', '[core]\nx = "a\\\n[junk]"\nfsmonitor = evil\n'],
    ['a line separator of Unicode behind it', '[core]\nfsmonitor = evil #\u2028\n'],
    ['a carriage return before it', '[core]\r\rfsmonitor = evil\n'],
    ['something git refuses before it', '[core]\n= 1\n[ \nfsmonitor = evil\n'],
    ['a byte order mark before it', '\ufeff[core]fsmonitor=evil'],
  ])('S17: a key with %s is seen as git sees it', async (_what, config) => {
    expect(Object.fromEntries(gitConfigKeys(config))).toHaveProperty(['core.fsmonitor'], '\nevil');
    const named = await namedAfter((project) => writeFileSync(join(project, '.git/config'), config));
    expect(named).toEqual(['git config core.fsmonitor']);
  });

  it('S17: what is a value or a comment is no key', () => {
    const config = '[a]\nx = "\\\n[core]\\\nfsmonitor = y"\n; [core] fsmonitor = z\n[b] c = d ; [core]\n';
    expect(gitConfigKeys(config).map(([key]) => key)).toEqual(['a.x', 'b.c']);
  });

  it('S17: a long configuration of headings only is read in one pass', () => {
    expect(gitConfigKeys('["'.repeat(500_000))).toEqual([]);
  });

  it('S17: a subsection cannot hide a key, and an address that names a program is named at any key', async () => {
    const config = '[filter "\u2028"]\nclean = evil\n[branch "main"]\nremote = ext::sh -c evil\n';
    const named = await namedAfter((project) => writeFileSync(join(project, '.git/config'), config));
    expect(named).toEqual(['git config branch.main.remote', 'git config filter.\u2028.clean']);
  });

  it('S17: a hook that was there and becomes executable', async () => {
    const project = realpathSync(mkdtempSync(join(tmpdir(), 'pi-sandbox-executed-')));
    onTestFinished(() => rmSync(project, { recursive: true, force: true }));
    mkdirSync(join(project, '.git/hooks'), { recursive: true });
    writeFileSync(join(project, '.git/hooks/pre-commit'), 'evil', { mode: 0o644 });
    const before = await rememberHostExecuted(CanonicalPath.parse(project));
    chmodSync(join(project, '.git/hooks/pre-commit'), 0o755);
    expect(await changesSince(before)).toEqual(['git hook pre-commit']);
  });

  it.each(['protocol "ext"|allow', 'lfs "customtransfer.x"|path', 'core|worktree', 'tar "x"|command'])(
    'S17: key %s',
    async (text) => {
      const [section = '', key = ''] = text.split('|');
      const named = await namedAfter((project) =>
        appendFileSync(join(project, '.git/config'), `[${section}]\n\t${key} = evil\n`),
      );
      expect(named).toEqual([`git config ${section.replace(/ "(.*)"/, '.$1')}.${key}`]);
    },
  );
});
