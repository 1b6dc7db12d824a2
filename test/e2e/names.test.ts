import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { sandboxes, sandboxOf } from '../setup/look.ts';

let here: Installation;

beforeAll(async () => {
  here = await installation();
  here.configure('.env', 'DOMAINS=work,private\nDEFAULT_DOMAIN=work\n');
});

afterAll(async () => {
  await here.cleanup();
  expect(await here.leftovers()).toEqual([]);
});

describe('S18: names', () => {
  it.each([
    ['spaces', 'my best shop'],
    ['commas', 'a,b,source=c'],
    ['colons', 'a:b:ro'],
    ['quotes', `it's "quoted" \`id\``],
    ['a dollar and a backslash', '$HOME\\n'],
    ['other scripts', 'büro 商店 магазин \u{1f600}'],
    ['200 characters', 'n'.repeat(200)],
    ['a leading dash', '-p'],
    ['only signs', '...!'],
  ])('S18: a project with %s in its name', async (_what, name) => {
    const project = here.project(undefined, name);
    const result = await here.run(['shell', '--', 'sh', '-c', 'pwd; touch made'], { cwd: project });
    expect(result).toEqual({ exitCode: 0, signal: undefined, stdout: `${project}\n`, stderr: '' });
    expect(existsSync(join(project, 'made'))).toBe(true);
    const container = await sandboxOf(here, project);
    expect(container).toMatch(/^[a-z0-9][a-z0-9_.-]{1,105}$/);
    expect(await here.run(['stop'], { cwd: project })).toMatchObject({ exitCode: 0 });
    expect(await sandboxes(here)).toEqual([]);
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
