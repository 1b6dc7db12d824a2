/** `pi-work` as a user calls it. */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { acquireRun } from '../../../src/work/index.ts';
import { builtProgram } from '../../setup/built-program.ts';
import { clockAt } from './scene.ts';

let program = '';
beforeAll(() => {
  program = builtProgram('src/agent/pi-work.ts');
});

function scene() {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'pi-work-')));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  const root = join(top, 'work');
  const call = (...words: string[]) => {
    const env = { PATH: process.env.PATH, HOME: top, PI_CODING_AGENT_DIR: top };
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...words], {
      env,
      encoding: 'utf8',
      timeout: 20_000,
    });
    return { status, stdout, stderr };
  };
  const run = async (place: string, days = 0) => {
    const [category = '', tenant = '', runId = ''] = place.split('/');
    const clock = clockAt(new Date(Date.now() - days * 86_400_000));
    const made = await acquireRun(root, { category, tenant, runId }, { clock });
    writeFileSync(join(made.path, 'f'), 'x');
    return made;
  };
  return { top, root, call, run };
}

describe('pi-work', () => {
  it('W8: list shows runs, the last used first, and who holds them', async () => {
    const { call, run, root } = scene();
    await (await run('jobs/shop/old', 3)).release();
    const held = await run('jobs/shop/held');
    await (await run('tests/shop/other')).release();
    const { status, stdout } = call('list');
    expect(status).toBe(0);
    expect(stdout.split('\n').map((line) => line.split(/\s+/).slice(0, 3).join('/'))).toEqual([
      ...['CATEGORY/TENANT/RUN', 'jobs/shop/held', 'jobs/shop/old', 'tests/shop/other', ''],
    ]);
    expect(stdout).toMatch(new RegExp(`held .*:${process.pid}\\n`));
    const json = JSON.parse(call('list', 'jobs', 'shop', '--size', '--json').stdout);
    expect(json).toMatchObject({
      version: 1,
      root,
      runs: [
        {
          runId: 'held',
          inUse: true,
          path: held.path,
          bytes: expect.any(Number),
          holders: [{ pid: process.pid }],
        },
        { runId: 'old', inUse: false, holders: [] },
      ],
      cut: false,
    });
    await held.release();
  });

  it('W8: path says where the work root really is, and makes nothing', () => {
    const { top, call } = scene();
    mkdirSync(join(top, 'elsewhere'));
    symlinkSync('elsewhere', join(top, 'work'));
    expect(call('path').stdout).toBe(`${top}/elsewhere\n`);
    expect(call('path', 'jobs', 'shop', 'r').stdout).toBe(`${top}/elsewhere/jobs/shop/r\n`);
    expect(JSON.parse(call('path', 'jobs', '--json').stdout)).toEqual({
      version: 1,
      path: `${top}/elsewhere/jobs`,
      exists: false,
    });
    expect(call('path', 'Jobs')).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('upper-case'),
    });
    expect(readdirSync(join(top, 'elsewhere'))).toEqual([]);
  });

  it('W8: prune removes what is old, of all tenants or of one, after a dry run has said so', async () => {
    const { call, run, root } = scene();
    // The youngest first: an acquire prunes too.
    for (const [place, days] of [
      ['b/y/fresh', 1],
      ['b/y/older', 50],
      ['a/x/old', 40],
    ] as const)
      await (await run(place, days)).release();
    const dry = call('prune', '--dry-run');
    expect(dry).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/older.*unused for too long\nwould remove 2 /),
    });
    expect(readdirSync(root).sort()).toEqual(['.pi-work', 'a', 'b']);
    const one = JSON.parse(call('prune', 'b', 'y', '--days', '45', '--json').stdout);
    expect(one).toMatchObject({
      version: 1,
      dryRun: false,
      kept: 1,
      removed: { items: [{ runId: 'older', why: 'age' }] },
    });
    expect(call('prune')).toMatchObject({ status: 0, stdout: expect.stringContaining('removed 1 ') });
    expect(readdirSync(join(root, 'b/y'))).toContain('fresh');
    expect(existsSync(join(root, 'a'))).toBe(false);
  });

  it('W8: prune refuses what is no limit, or beyond the ceiling', () => {
    const { call } = scene();
    for (const words of [['--days', 'x'], ['--days', '366'], ['--bytes', '65GiB'], ['--bytes', '-1'], ['a']])
      expect(call('prune', ...words), words.join(' ')).toMatchObject({ status: 2, stdout: '' });
  });

  it('W8: doctor says what lies there that is no run, changes nothing, and ends with 1 then', async () => {
    const { call, run, root } = scene();
    expect(call('doctor')).toMatchObject({ status: 0, stdout: expect.stringContaining('all is well') });
    await (await run('jobs/shop/r')).release();
    expect(call('doctor').status).toBe(0);
    mkdirSync(join(root, 'jobs/shop/theirs'));
    mkdirSync(join(root, `jobs/shop/.tombstone-${'a'.repeat(32)}`));
    writeFileSync(join(root, 'jobs/shop/r/.leases', 'x\u001b[31m'), '');
    const { status, stdout } = call('doctor');
    expect(status).toBe(1);
    expect(stdout).toContain('jobs/shop/theirs');
    expect(stdout).toContain('it has no manifest');
    expect(stdout).toContain('1 directories that ended processes left');
    expect(stdout).not.toContain('\u001b');
    const json = JSON.parse(call('doctor', '--json').stdout);
    expect(json.findings).toHaveLength(3);
    expect(readdirSync(join(root, 'jobs/shop'))).toContain(`.tombstone-${'a'.repeat(32)}`);
  });

  it('W8: doctor does not say that all is well where it could not look at all', async () => {
    const { call, run, root } = scene();
    await (await run('jobs/shop/r')).release();
    for (let n = 0; n < 10_000; n++) writeFileSync(join(root, `jobs/shop/f${n}`), '');
    rmSync(join(root, 'jobs/shop/f0'));
    expect(call('doctor').stdout).not.toContain('more than was looked at');
    for (const n of [0, 10_000]) writeFileSync(join(root, `jobs/shop/f${n}`), '');
    const { status, stdout } = call('doctor');
    expect({ status, cut: stdout.includes('there is more than was looked at') }).toEqual({
      status: 1,
      cut: true,
    });
  });

  it('W8: on a machine without work directories every verb says so, and makes none', () => {
    const { call, root } = scene();
    for (const verb of ['list', 'prune', 'doctor', 'path'])
      expect(call(verb), verb).toMatchObject({ status: 0, stderr: '' });
    expect(existsSync(root)).toBe(false);
  });

  it.each(['list', 'path', 'prune', 'doctor'])('S15: %s --help shows how it is called', (verb) => {
    const { call } = scene();
    expect(call(verb, '--help').stdout).toMatch(new RegExp(`\\nExamples:\\n(.*\\n)*.*pi-work ${verb}`));
  });
});
