import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ENGINES, readyEngine } from '../setup/engines.ts';
import { type Installation, installation } from '../setup/installation.ts';
import { leftovers } from '../setup/leftovers.ts';
import { terminal } from '../setup/terminal.ts';

describe.each(ENGINES)('S15: reset on %s', (kind) => {
  let here: Installation;
  let neighbour: Installation;
  let project: string;

  beforeAll(async () => {
    const engine = await readyEngine(kind, inject('e2e'));
    [here, neighbour] = [
      await installation(engine),
      await installation({ ...engine, close: async () => undefined }),
    ];
    here.configure('.env', 'DOMAINS=work,private\nDEFAULT_DOMAIN=work\n');
    project = here.project();
  });

  afterAll(async () => {
    await Promise.all([here.cleanup(), neighbour.cleanup()]);
    expect([...(await here.leftovers()), ...(await neighbour.leftovers())]).toEqual([]);
  });

  /** The tests' own image bears this installation's name and another's label, so it is not this one's to remove. */
  const all = async (): Promise<string[]> =>
    (await leftovers(here.engine, here.prefix))
      .filter((line) => line.replace('localhost/', '') !== `image ${here.image}`)
      .sort();
  const start = (domain: string) => here.run(['shell', project, '--domain', domain, '--', 'true']);

  it('S15: lists exactly what would go, with sizes, and removes nothing', async () => {
    await start('work');
    await start('private');
    await neighbour.run(['shell', neighbour.project(), '--', 'true']);
    const labels = [`LABEL pi-sandbox.prefix=${here.prefix}`, 'LABEL pi-sandbox.role=image'];
    const changes = labels.flatMap((label) => ['--change', label]);
    const empty = Buffer.alloc(1024).toString('latin1');
    await here.engine.command(['import', ...changes, '-', `${here.prefix}pi-sandbox:old`], {
      input: empty,
    });
    const before = await all();
    const listed = JSON.parse((await here.run(['reset', '--all', '--dry-run', '--json'])).stdout);
    const names = listed.items.map(({ kind, name }: { kind: string; name: string }) => `${kind} ${name}`);
    expect(names.sort()).toEqual(before);
    const shown = await here.run(['reset', '--domain', 'work', '-n']);
    expect(shown.stdout).toMatch(/volume +\S+pi-sessions-work +work +\d/);
    expect(shown.stdout).not.toContain('private');
    expect(shown.stdout).not.toContain('agent-state');
    expect(await all()).toEqual(before);
  });

  it('S15: asks; without a terminal and without --yes it is wrong usage, and Enter is a no', async () => {
    const before = await all();
    expect(await here.run(['reset', '--domain', 'work'])).toMatchObject({ exitCode: 2 });
    const window = terminal(process.execPath, [here.cli, 'reset', '--domain', 'work'], {
      env: here.env,
      cwd: project,
    });
    await window.shows(/Nothing brings it back\. \[y\/N\]/);
    window.type('\r');
    expect(await window.exited()).toBe(1);
    expect(await all()).toEqual(before);
    for (const words of [[], ['--all', '--domain', 'work']]) {
      expect(await here.run(['reset', ...words])).toMatchObject({ exitCode: 2, stdout: '' });
    }
  });

  it('S15: a domain goes, with what runs in it, and the others stay', async () => {
    const open = here.start(['shell', project, '--domain', 'work', '--', 'sh', '-c', 'echo up; sleep 100']);
    await once(open.stdout, 'data');
    const exit = once(open, 'exit');
    const result = await here.run(['reset', '--domain', 'work', '--yes']);
    expect(result.exitCode).toBe(0);
    expect(result.stdout).toMatch(/running, 1 open/);
    await exit;
    const left = await all();
    expect(left.filter((line) => /-work(-|$)/.test(line))).toEqual([]);
    expect(left.filter((line) => line.includes('private'))).toHaveLength(4);
    expect(left.some((line) => line.includes('agent-state'))).toBe(true);
    expect((await here.run(['shell', project, '--domain', 'private', '--', 'true'])).exitCode).toBe(0);
  });

  it('S15: killed half way, a second call finishes; everything goes, and nothing of another installation', async () => {
    await start('work');
    const others = (await leftovers(neighbour.engine, neighbour.prefix)).sort();
    const child = here.start(['reset', '--all', '--yes']);
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
      if (/removed volume/.test(output)) child.kill('SIGKILL');
    });
    await once(child, 'exit');
    expect((await all()).length).toBeGreaterThan(0);
    expect((await here.run(['reset', '--all', '--yes'])).exitCode).toBe(0);
    expect(await all()).toEqual([]);
    expect((await leftovers(neighbour.engine, neighbour.prefix)).sort()).toEqual(others);
    const again = await here.run(['reset', '--all', '--yes']);
    expect(again).toMatchObject({
      exitCode: 0,
      stdout: '',
      stderr: expect.stringContaining('nothing to remove'),
    });
  });
});
