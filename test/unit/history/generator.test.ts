import { createHash } from 'node:crypto';
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { folderOf, generateHistory } from '../../setup/history-generator.ts';
import { makePiWorld, type PiWorld, piCli, runPi } from '../../setup/pi.ts';
import { temporaryDirectory } from '../lib/temporary.ts';

const NOW = new Date('2026-11-30T12:00:00Z');

function digestOf(root: string): string {
  const hash = createHash('sha256');
  for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' }).sort()) {
    const { mtimeNs } = lstatSync(join(root, path), { bigint: true });
    hash.update(path).update(String(path.endsWith('.jsonl') ? mtimeNs : ''));
    if (lstatSync(join(root, path)).isFile()) hash.update(readFileSync(join(root, path)));
  }
  return hash.digest('hex');
}

describe('S11: generated history', () => {
  it('S11: is the same for the same seed, and another for another', () => {
    const roots = ['a', 'a', 'b'].map((seed) => {
      const root = temporaryDirectory();
      expect([...generateHistory(root, { seed, sessions: 30, now: NOW })]).toHaveLength(30);
      return digestOf(root);
    });
    expect(roots[0]).toBe(roots[1]);
    expect(roots[0]).not.toBe(roots[2]);
  });

  it('S12: has every age and size, lossy folders that hold several directories, and times finer than a millisecond', () => {
    const root = temporaryDirectory();
    const all = [...generateHistory(root, { seed: 'spread', sessions: 800, now: NOW, medianBytes: 3_000 })];
    const ages = all.map(({ ended }) => (NOW.getTime() - ended.getTime()) / 86_400_000);
    expect(ages.filter((days) => days > 30).length).toBeGreaterThan(200);
    expect(ages.filter((days) => days < 30).length).toBeGreaterThan(200);
    expect(Math.min(...all.map(({ size }) => size))).toBeLessThan(800);
    expect(Math.max(...all.map(({ size }) => size))).toBeGreaterThan(100_000);
    const shared = all.filter(({ path }) => path.startsWith(`${folderOf('/home/me/w/a-b')}/`));
    expect(new Set(shared.map(({ cwd }) => cwd)).size).toBe(2);
    expect(all.some(({ modified }) => modified % 1_000_000n !== 0n)).toBe(true);
  });

  it('S11: is damaged, misdated and mixed with foreign files on request', () => {
    const root = temporaryDirectory();
    const damage = { torn: 0.2, headless: 0.2, empty: 0.2 };
    const options = { seed: 'bad', sessions: 60, now: NOW, medianBytes: 900, damage, misdated: 0.3 };
    const all = [...generateHistory(root, { ...options, foreign: true, flat: 0.2 })];
    for (const { kind, path } of all) {
      const text = readFileSync(join(root, path), 'utf8');
      expect(text === '', path).toBe(kind === 'empty');
      if (kind === 'torn') expect(() => JSON.parse(text.split('\n').at(-1) ?? '')).toThrow();
      if (kind === 'headless') expect(text.split('\n')[0]).not.toMatch(/^\{"type":"session".*\}$/);
    }
    expect(new Set(all.map(({ kind }) => kind)).size).toBe(4);
    expect(all.some(({ path }) => !path.includes('/'))).toBe(true);
    expect(readdirSync(root)).toContain('README.txt');
    expect(lstatSync(join(root, '--etc--')).isSymbolicLink()).toBe(true);
  });
});

describe('S11: real pi and generated history', () => {
  let world: PiWorld;
  let sessions: string;
  beforeAll(async () => {
    world = await makePiWorld(mkdtempSync(join(tmpdir(), 'history-pi-')));
    sessions = join(world.directory, 'agent', 'sessions');
  });

  afterAll(() => rmSync(world.directory, { recursive: true, force: true }));

  it('S11: lists every Session with its name, from whole and torn files', async () => {
    const { SessionManager } = await import(
      pathToFileURL(piCli().replace(/bundle\/cli\.js$/, 'index.js')).href
    );
    const damage = { torn: 0.2 };
    const all = [
      ...generateHistory(sessions, { seed: 'list', sessions: 60, now: NOW, medianBytes: 4_000, damage }),
    ];
    const folders = new Set(all.map(({ cwd }) => join(sessions, folderOf(cwd))));
    const listed: { path: string; id: string; cwd: string; name?: string }[] = [];
    for (const folder of folders) listed.push(...(await SessionManager.listAll(folder)));
    const known = new Map(listed.map((info) => [info.id, info]));
    for (const { id, cwd, path } of all) {
      expect(known.get(id)).toMatchObject({ path: join(sessions, path), cwd });
    }
    for (const { id, name, kind } of all) if (kind === 'whole') expect(known.get(id)?.name).toBe(name);
  });

  it('S11: continues one, and only appends to it', async () => {
    const here = { directories: [world.project], medianBytes: 30_000 };
    const [session] = generateHistory(sessions, { seed: 'go', sessions: 1, now: NOW, ...here });
    const file = join(sessions, session?.path ?? '');
    const before = readFileSync(file);
    const { code, stderr } = await runPi(world, ['--session', file, '-p', 'hi']);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const after = readFileSync(file);
    expect(after.subarray(0, before.length).equals(before)).toBe(true);
    expect(after.length).toBeGreaterThan(before.length);
  });
});
