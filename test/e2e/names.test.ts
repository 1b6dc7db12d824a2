import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ENGINES, readyEngine } from '../setup/engines.ts';
import { type Installation, installation } from '../setup/installation.ts';
import { sandboxes } from '../setup/look.ts';

const AS_ROOT = process.getuid?.() === 0;

/** What an engine, a shell or a separator of ours could take for something else; the last four are pi-sandbox's own worry. */
const NAMES: [string, string][] = [
  ['spaces', ' my best  shop '],
  ['commas', 'a,b,source=c'],
  ['colons', 'a:b:ro'],
  ['quotes', `it's "quoted" \`id\``],
  ['a dollar and a backslash', '$HOME\\n'],
  ['other scripts', 'büro 商店 магазин \u{1f600}'],
  ['200 characters', 'n'.repeat(200)],
  ['a leading dash', '-p'],
  ['only signs', '...!'],
  ['a percent sign and a tilde', '~%2e%2e%00'],
  ['braces', '{{.Name}}{a,b}'],
];

describe.each(ENGINES)('S18: names on %s', (kind) => {
  let here: Installation;

  beforeAll(async () => {
    here = await installation(await readyEngine(kind, inject('e2e')));
  });

  afterAll(async () => {
    await here.run(['stop', '--all']);
    const left = (await here.leftovers()).filter((line) => !line.startsWith('volume '));
    await here.cleanup();
    expect(left).toEqual([]);
  });

  const shellIn = (cwd: string, script: string, ...options: string[]) =>
    here.run(['shell', ...options, '--', 'sh', '-c', script], { cwd });

  it.each(NAMES)('S18: a project with %s in its name', async (_what, name) => {
    const project = here.project(undefined, name);
    const result = await shellIn(project, 'pwd; touch made');
    expect(result).toEqual({ exitCode: 0, signal: undefined, stdout: `${project}\n`, stderr: '' });
    expect(existsSync(join(project, 'made'))).toBe(true);
    expect(await sandboxes(here)).toEqual([expect.stringMatching(/^[a-z0-9][a-z0-9_.-]{1,105}$/)]);
    expect(await here.run(['stop'], { cwd: project })).toMatchObject({ exitCode: 0 });
    expect(await sandboxes(here)).toEqual([]);
  });

  it('S18: by a link to it, or below a link, a project is the same one', async () => {
    const project = here.project(undefined, 'my shop');
    const way = here.project(undefined, 'links');
    symlinkSync(project, join(way, 'to it'));
    symlinkSync(dirname(project), join(way, 'parent'));
    const ways = [project, join(way, 'to it'), join(way, 'parent', basename(project))];
    for (const each of ways) {
      const { stdout } = await here.run(['shell', each, '--', 'sh', '-c', 'pwd; echo x >>seen']);
      expect(stdout).toBe(`${project}\n`);
    }
    expect((await here.run(['shell', '--', 'wc', '-l', 'seen'], { cwd: ways[1] ?? '' })).stdout).toBe(
      '3 seen\n',
    );
    expect(await sandboxes(here)).toHaveLength(1);
    expect((await here.run(['stop', ways[2] ?? ''])).exitCode).toBe(0);
  });

  it.runIf(AS_ROOT)(
    'S17: a project below /usr/src, /home/pi or /tmp works, and nothing stays behind',
    async () => {
      for (const place of ['/usr/src', '/home/pi', '/tmp']) {
        const made = mkdirSync(place, { recursive: true });
        const root = mkdtempSync(join(place, 'e2e-'));
        try {
          const project = join(root, 'my shop');
          mkdirSync(project);
          execFileSync('chown', ['-R', `${here.owner.uid}:${here.owner.gid}`, root]);
          expect(await shellIn(project, 'pwd; touch made ~/mine; ls /home/pi')).toMatchObject({
            exitCode: 0,
            stderr: '',
            stdout: expect.stringMatching(new RegExp(`^${project}\n`)),
          });
          expect(lstatSync(join(project, 'made')).uid).toBe(here.owner.uid);
          expect((await here.run(['stop', project])).exitCode).toBe(0);
          const other = here.project();
          expect((await shellIn(other, `ls -d ${root} 2>/dev/null; ls -A /home/pi`)).stdout).not.toMatch(
            /^\/|e2e-/m,
          );
          await here.run(['stop', other]);
        } finally {
          rmSync(root, { recursive: true, force: true });
          if (made !== undefined && readdirSync(place).length === 0) rmdirSync(place);
        }
      }
      expect(await shellIn('/', 'true')).toMatchObject({ exitCode: 2, stdout: '' });
    },
  );

  it('S17: a worktree and a submodule with odd names work as git repositories, and commit as they do outside', async () => {
    const root = here.project(undefined, "it's a, repo ü");
    const git = (where: string, ...args: string[]): string => {
      const safe = ['-c', 'safe.directory=*', '-c', 'protocol.file.allow=always'];
      const who = ['-c', 'user.name=T', '-c', 'user.email=t@example.com'];
      return execFileSync('git', [...safe, ...who, '-C', where, ...args], {
        encoding: 'utf8',
        stdio: 'pipe',
      });
    };
    const [main, library] = [join(root, 'main repo'), join(root, 'library')];
    for (const repository of [main, library]) {
      mkdirSync(repository);
      git(repository, 'init', '-q');
      git(repository, 'commit', '-q', '--allow-empty', '-m', `first of ${basename(repository)}`);
    }
    git(main, 'worktree', 'add', '-q', '-b', 'two', join(root, 'tree, two'));
    git(main, 'submodule', '--quiet', 'add', library, 'parts/a "library"');
    if (AS_ROOT) execFileSync('chown', ['-R', `${here.owner.uid}:${here.owner.gid}`, root]);
    const commit =
      'export GIT_AUTHOR_NAME=T GIT_AUTHOR_EMAIL=t@e.x GIT_COMMITTER_NAME=T GIT_COMMITTER_EMAIL=t@e.x; git log --format=%s && git commit -q --allow-empty -m inside; git status --porcelain=2 --branch | head -2';
    for (const [project, first] of [
      [join(root, 'tree, two'), 'first of main repo'],
      [join(main, 'parts/a "library"'), 'first of library'],
    ] as const) {
      const result = await shellIn(project, commit);
      expect(result).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`${first}\n`) });
      expect(result.stderr).toContain("mounting the project's git directory");
      expect(git(project, 'log', '-1', '--format=%s')).toBe('inside\n');
      await here.run(['stop', project]);
    }
    const planted = here.project();
    writeFileSync(join(planted, '.git'), `gitdir: ${join(main, '.git')}\n`);
    const refused = await shellIn(planted, `ls '${main.replaceAll("'", "'\\''")}' 2>/dev/null`);
    expect(refused.stdout).toBe('');
    expect(refused.stderr).toContain('does not point back');
    await here.run(['stop', planted]);
  });

  it('S18: of starts that ask for one --name at the same moment exactly one gets it', async () => {
    for (let round = 0; round < 2; round++) {
      const name = `mine-${round}`;
      const projects = Array.from({ length: 3 }, (_, at) => here.project(undefined, `p${at}`));
      const results = await Promise.all(
        projects.map((project) => here.run(['shell', '--name', name, project, '--', 'pwd'])),
      );
      const won = results.filter(({ exitCode }) => exitCode === 0);
      expect(won).toHaveLength(1);
      for (const { exitCode, stdout, stderr } of results.filter((result) => result !== won[0])) {
        expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
        expect(stderr).toContain(`the name ${name} is taken by the sandbox of`);
      }
      expect(await sandboxes(here)).toHaveLength(1);
      expect((await here.run(['shell', '--', 'pwd'], { cwd: won[0]?.stdout.trim() ?? '' })).stdout).toBe(
        won[0]?.stdout,
      );
      expect((await here.run(['stop', name])).exitCode).toBe(0);
    }
  });
});

describe('S18: names of projects and domains', () => {
  let here: Installation;

  beforeAll(async () => {
    here = await installation();
    here.configure('.env', 'DOMAINS=work,private\nDEFAULT_DOMAIN=work\n');
  });

  afterAll(async () => {
    await here.cleanup();
    expect(await here.leftovers()).toEqual([]);
  });

  it('S18: pi itself runs in such a project and finds its Session again', async () => {
    const project = here.project(undefined, 'it\'s a "näme", really: $x');
    const first = await here.run(['start', '--demo', project, '--', '-p', 'run pwd']);
    expect(first).toMatchObject({ exitCode: 0, stderr: '' });
    expect(first.stdout).toContain(project);
    const again = await here.run(['start', '--demo', project, '--', '-c', '--mode', 'json', 'run true']);
    expect(again.stdout).toContain(JSON.stringify(project));
    await here.run(['stop', project]);
  });

  it('S18: two domains of one project are two sandboxes, each with its own home', async () => {
    const project = here.project();
    const write = (domain: string) =>
      here.run([
        'shell',
        '--domain',
        domain,
        project,
        '--',
        'sh',
        '-c',
        `ls -A ~ | grep mine; echo x > ~/mine-${domain}`,
      ]);
    expect((await write('work')).stdout).toBe('');
    expect((await write('private')).stdout).toBe('');
    const names = await sandboxes(here, project);
    expect(names).toHaveLength(2);
    const ambiguous = await here.run(['stop', project]);
    expect(ambiguous.exitCode).toBe(2);
    expect(ambiguous.stderr).toContain('--domain');
    expect((await here.run(['stop', '--domain', 'work', project])).exitCode).toBe(0);
    expect((await here.run(['stop', '--all'])).exitCode).toBe(0);
    const logs = await here.run(['logs', project]);
    expect(logs).toMatchObject({ exitCode: 2, stdout: '' });
    expect(logs.stderr).toContain('--domain');
    const work = names.find((name) => name.includes('-work-')) ?? '';
    const one = await here.run(['logs', '--domain', 'work', project]);
    expect(one.stdout).toContain('ended');
    expect(await here.run(['logs', work])).toEqual(one);
  });

  it('S7: a domain that is not configured is an error that lists those that are', async () => {
    const result = await here.run(['shell', '--domain', 'other', here.project(), '--', 'true']);
    expect(result.exitCode).toBe(2);
    expect(result.stderr).toContain('work');
    expect(result.stderr).toContain('private');
  });

  it('S18: a name with a line break is refused in one clear line', async () => {
    const project = here.project(undefined, 'two\nlines');
    const result = await here.run(['shell', '--', 'true'], { cwd: project });
    expect(result.exitCode).toBe(2);
    expect(result.stderr).toContain('control character');
  });
});
