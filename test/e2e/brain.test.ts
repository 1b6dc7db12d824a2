import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';

let here: Installation;
let project: string;

/** A directory that the sandbox's user may write. */
function directory(name: string): string {
  const path = join(here.directory, name);
  mkdirSync(path);
  chmodSync(path, 0o777);
  if (process.getuid?.() === 0) chownSync(path, here.owner.uid, here.owner.gid);
  return path;
}

beforeAll(async () => {
  here = await installation();
  project = here.project();
  const [work, other] = [directory('work notes'), directory('other')];
  writeFileSync(join(work, 'a.md'), 'work knows this');
  writeFileSync(join(other, 'b.md'), 'other knows that');
  here.configure(
    '.env',
    `DOMAINS=work,other,bare\nDEFAULT_DOMAIN=work\nBRAIN_WORK_PATH=${work}\nBRAIN_OTHER_PATH=${other}\n`,
  );
});

afterAll(async () => {
  await here.cleanup();
  expect(await here.leftovers()).toEqual([]);
});

describe('S9: the brain of a domain', () => {
  it('S9: is mounted in its sandboxes, writable, and the instructions say so', async () => {
    const script = 'cat /brain/work/a.md; echo new > /brain/work/c.md; ls /brain; cat ~/.pi/agent/AGENTS.md';
    const result = await here.run(['shell', project, '--', 'sh', '-c', script]);
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    expect(result.stdout).toMatch(
      /^work knows this\n?work\n# Memory of the domain "work"\n\n[^#]*\/brain\/work/,
    );
    expect(readFileSync(join(here.directory, 'work notes/c.md'), 'utf8')).toBe('new\n');
    await here.run(['stop', project]);
  });

  it('S9: another domain’s comes only when asked for, and read-only; its history stays out of reach', async () => {
    const script =
      'cat /brain/other/b.md; echo evil > /brain/other/b.md; find / -name "*other*" -path "*session*" 2>/dev/null';
    const result = await here.run(['shell', project, '--with-domain', 'other', '--', 'sh', '-c', script]);
    expect(result.stdout).toBe('other knows that');
    expect(result.stderr).toMatch(/Read-only file system/);
    const again = await here.run(['shell', project, '--with-domain', 'other', '--', 'true']);
    expect(again).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--with-domain can be given'),
    });
    await here.run(['stop', project]);
  });

  it('S9: a domain without a brain of its own is told of another’s that comes along', async () => {
    const words = ['shell', project, '--domain', 'bare', '--with-domain', 'other', '--'];
    const { stdout } = await here.run([...words, 'sh', '-c', 'cat /brain/other/b.md ~/.pi/agent/AGENTS.md']);
    expect(stdout).toMatch(
      /^other knows that# Memory of other domains\n\nThe directories in \/brain, [^/]*$/,
    );
    await here.run(['stop', project, '--domain', 'bare']);
  });

  it('S9: what has no brain, or one that would hand out too much, is one clear line', async () => {
    const cases: [string[], NodeJS.ProcessEnv, RegExp][] = [
      [['--with-domain', 'bare'], {}, /BRAIN_BARE_PATH is not set\n {2}with a brain: other\n/],
      [['--with-domain', 'nope'], {}, /there is no such domain/],
      [['--with-domain', 'work'], {}, /that is the domain of this project/],
      [[], { PI_SANDBOX_BRAIN_WORK_PATH: '/nowhere' }, /BRAIN_WORK_PATH is \/nowhere, which is no directory/],
      [[], { PI_SANDBOX_BRAIN_WORK_PATH: here.configDirectory }, /which holds .*config\n/],
      [[], { PI_SANDBOX_BRAIN_WORK_PATH: '/' }, /BRAIN_WORK_PATH is \/, which holds/],
    ];
    for (const [words, env, message] of cases) {
      const result = await here.run(['shell', project, ...words, '--', 'true'], { env });
      expect(result.stderr).toMatch(message);
      expect(result).toMatchObject({ exitCode: 2, stdout: '' });
    }
    expect((await here.leftovers()).filter((line) => line.startsWith('container '))).toEqual([]);
  });
});
