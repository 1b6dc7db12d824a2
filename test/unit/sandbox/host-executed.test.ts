import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CanonicalPath } from '../../../src/cli/config/index.ts';
import { changesSince, gitConfigKeys, rememberHostExecuted } from '../../../src/cli/sandbox/host-executed.ts';

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
