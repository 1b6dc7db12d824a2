import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  clearLegacyStore,
  domainOfCwd,
  type MigrationOptions,
  migrateLegacy,
  surveyLegacy,
} from '../../../src/history/index.ts';
import { type DomainTable, tableFingerprint } from '../../../src/wire/index.ts';

const ROOT = process.getuid?.() === 0;
const SEAL = ROOT
  ? { uid: 65_533, gid: 65_533 }
  : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const OWNER = ROOT ? { uid: 1000, gid: 1000 } : SEAL;
const PROCESS = join(import.meta.dirname, 'legacy-process.ts');
const TABLE: DomainTable = {
  rules: [
    { path: '/home/u/work', domain: 'work' },
    { path: '/home/u/work/own', domain: 'private' },
    { path: '/workspace/acme', domain: 'work' },
    { path: '/home/u/both', domain: null },
  ],
  fallback: null,
};

let root = '';
let shared = '';
let store = '';
let domains: Record<string, string> = {};
let serial = 0;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'legacy-'));
  shared = join(root, 'shared');
  store = join(shared, '.pi/agent/sessions');
  mkdirSync(store, { recursive: true });
  domains = { work: join(root, 'work'), private: join(root, 'private') };
  for (const path of Object.values(domains)) {
    mkdirSync(path);
    if (ROOT) chownSync(path, OWNER.uid, OWNER.gid);
  }
  serial = 0;
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** An old Session as pi wrote it; its times are set to a nanosecond that Node alone could not keep. */
function session(folder: string, cwd: string | undefined, size = 300): string {
  const id = `aaaa0000-0000-4000-8000-${String(++serial).padStart(12, '0')}`;
  const header = { type: 'session', version: 3, id, timestamp: '2026-01-02T03:04:05.678Z', cwd };
  const entry = { type: 'message', id: 'e1', parentId: null, text: 'x'.repeat(size) };
  const file = join(store, folder, `2026-01-02T03-04-05-678Z_${id}.jsonl`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(header)}\n${JSON.stringify(entry)}\n`);
  execFileSync('touch', ['-d', `2026-01-02 03:04:05.${String(100_000_000 + serial)}`, file]);
  return file;
}

const migrate = (options: Partial<MigrationOptions> = {}) =>
  migrateLegacy({ sharedRoot: shared, domains, table: TABLE, seal: SEAL, ...options });

/** Every Session that there is, by place and name, with all that is to be kept: by a reader of its own. */
function census(): Map<string, { hash: string; mtime: bigint; mode: number; uid: number }> {
  const found = new Map();
  const walk = (place: string, directory: string): void => {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name);
      if (entry.isDirectory() && entry.name !== '.history') walk(place, path);
      if (!entry.isFile() || !entry.name.endsWith('.jsonl') || entry.name.startsWith('.')) continue;
      const { mtimeNs, mode, uid } = statSync(path, { bigint: true });
      const hash = createHash('sha256').update(readFileSync(path)).digest('hex');
      found.set(`${place}:${basename(dirname(path))}/${entry.name}`, {
        hash,
        mtime: mtimeNs,
        mode: Number(mode) & 0o777,
        uid: Number(uid),
      });
    }
  };
  if (existsSync(store)) walk('store', store);
  for (const [domain, path] of Object.entries(domains)) walk(domain, path);
  return found;
}

const places = (): string[] => [...census().keys()].map((key) => key.split(':')[0] ?? '').sort();
const litter = (): string[] =>
  execFileSync('find', [root, '-name', '*tmp*'], { encoding: 'utf8' }).split('\n').filter(Boolean);

describe('S12: which domain an old Session belongs to', () => {
  it.each([
    ['/home/u/work/shop', 'work'],
    ['/home/u/work/own/x', 'private'],
    ['/home/u/work-other', undefined],
    ['/home/u/work/../both/x', undefined],
    ['/workspace/acme', 'work'],
    ['relative/work', undefined],
    [undefined, undefined],
  ])('S12: %s is of %s', (cwd, domain) => expect(domainOfCwd(TABLE, cwd)).toBe(domain));

  it('S12: the longest path wins, whatever the order of the table; outside of all the fallback counts', () => {
    const segment = fc.constantFrom('a', 'b', 'ab');
    const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => `/${parts.join('/')}`);
    const rules = fc.uniqueArray(fc.record({ path, domain: fc.constantFrom('one', 'two', null) }), {
      selector: (rule) => rule.path,
      maxLength: 6,
    });
    fc.assert(
      fc.property(rules, path, fc.option(fc.constant('rest')), (given, cwd, fallback) => {
        const above = given.filter((rule) => `${cwd}/`.startsWith(`${rule.path}/`));
        const expected = above.sort((a, b) => b.path.length - a.path.length)[0];
        const domain = expected === undefined ? fallback : expected.domain;
        expect(domainOfCwd({ rules: given, fallback }, cwd)).toBe(domain ?? undefined);
        const table = { rules: given, fallback };
        expect(tableFingerprint(table)).toBe(tableFingerprint({ rules: [...given].reverse(), fallback }));
      }),
      { seed: 12 },
    );
  });
});

describe('S12: the migration', () => {
  it('S12: sorts by the recorded directory and not by the folder, and keeps bytes, times and place', async () => {
    session('--home-u-work-a--', '/home/u/work/a');
    // pi's folder name is lossy: here two directories share one.
    session('--home-u-work-own--', '/home/u/work/own');
    session('--home-u-work-own--', '/home/u/work-own');
    session('--home-u-work-own--', '/home/u/work/own', 200_000);
    session('.', '/workspace/acme/x');
    const before = census();
    const report = await migrate();
    expect(report).toMatchObject({
      ran: true,
      moved: { count: 4 },
      failed: 0,
      content: { unowned: { count: 1 } },
    });
    expect(places()).toEqual(['private', 'private', 'store', 'work', 'work']);
    const names = (map: Map<string, unknown>) => [...map.keys()].map((key) => basename(key)).sort();
    const after = census();
    expect(names(after)).toEqual(names(before));
    for (const [key, facts] of after) {
      const old = [...before].find(([other]) => basename(other) === basename(key))?.[1];
      expect({ hash: facts.hash, mtime: facts.mtime }).toEqual({ hash: old?.hash, mtime: old?.mtime });
      if (!key.startsWith('store')) expect([facts.mode, facts.uid]).toEqual([0o600, OWNER.uid]);
    }
    expect(readdirSync(domains.private ?? '')).toContain('--home-u-work-own--');
    // Emptied folders go, the others stay.
    expect(readdirSync(store).filter((name) => !name.startsWith('.'))).toEqual(['--home-u-work-own--']);
    expect(litter()).toEqual([]);
  });

  it('S12: happens once; when the decisions have changed, what is left is sorted again', async () => {
    session('a', '/home/u/work/a');
    session('b', '/elsewhere/b');
    await migrate();
    session('c', '/home/u/work/late');
    expect(await migrate()).toMatchObject({ ran: false });
    const table = { ...TABLE, fallback: 'private' };
    expect(await migrate({ table })).toMatchObject({ ran: true, moved: { count: 2 } });
    expect(places()).toEqual(['private', 'work', 'work']);
    expect(await migrate({ table })).toMatchObject({ ran: false });
  });

  it('S12: one domain’s first start takes its own and leaves the other’s', async () => {
    session('a', '/home/u/work/a');
    session('b', '/home/u/work/own/b');
    const { work = '' } = domains;
    const report = await migrate({ domains: { work } });
    expect(report).toMatchObject({ moved: { count: 1 }, content: { waiting: { private: { count: 1 } } } });
    expect(places()).toEqual(['store', 'work']);
    await migrate();
    expect(places()).toEqual(['private', 'work']);
  });

  it('S12: no Session is ever written over: the same is known again, another keeps both', async () => {
    const same = session('a', '/home/u/work/a');
    const other = session('a', '/home/u/work/a');
    const folder = join(domains.work ?? '', 'a');
    mkdirSync(folder);
    if (ROOT) chownSync(folder, OWNER.uid, OWNER.gid);
    writeFileSync(join(folder, basename(same)), readFileSync(same));
    writeFileSync(join(folder, basename(other)), 'something else');
    const old = readFileSync(other, 'utf8');
    const report = await migrate();
    expect(report).toMatchObject({ moved: { count: 2 }, alreadyThere: 1, renamed: { omitted: 0 } });
    const [renamed] = report.renamed.items;
    expect(readFileSync(join(folder, basename(other)), 'utf8')).toBe('something else');
    expect(readFileSync(join(folder, renamed?.name ?? ''), 'utf8')).toBe(old);
    expect(places()).toEqual(['work', 'work', 'work']);
  });

  it('S12: what has no readable header, or is no Session, stays and is counted', async () => {
    session('a', undefined);
    writeFileSync(join(store, 'a/broken.jsonl'), 'no json\n');
    writeFileSync(join(store, 'a/empty.jsonl'), '');
    writeFileSync(join(store, 'a/notes.txt'), 'mine');
    symlinkSync('/etc/passwd', join(store, 'a/link.jsonl'));
    mkdirSync(join(store, 'a/folder.jsonl'));
    const report = await migrate();
    expect(report).toMatchObject({
      moved: { count: 0 },
      content: { unowned: { count: 1 }, damaged: { count: 2 }, foreign: { count: 3 } },
    });
    expect(readdirSync(join(store, 'a')).length).toBe(6);
  });
});

describe('S12, rule 8: what a sandbox has planted', () => {
  it.skipIf(!ROOT)(
    'S12: the history is out of reach afterwards, and what appears in its place later is not believed',
    async () => {
      session('a', '/home/u/work/a');
      await migrate({ domains: { private: domains.private ?? '' } });
      expect(lstatSync(store)).toMatchObject({ uid: SEAL.uid });
      expect(lstatSync(store).mode & 0o777).toBe(0o700);
      // A sandbox can rename the folders above, and put its own in their place.
      renameSync(join(shared, '.pi'), join(shared, 'moved'));
      mkdirSync(store, { recursive: true });
      chownSync(store, OWNER.uid, OWNER.gid);
      session('evil', '/home/u/work/evil');
      const report = await migrate();
      expect(report.problems.items[0]?.reason).toContain('moved from its place');
      expect(readdirSync(domains.work ?? '').filter((name) => !name.startsWith('.'))).toEqual(['a']);
    },
  );

  it('S12: links in the place of its folders lead nowhere', async () => {
    const outside = join(root, 'outside');
    mkdirSync(outside);
    session('a', '/home/u/work/a');
    renameSync(join(store, 'a'), join(outside, 'a'));
    symlinkSync(join(outside, 'a'), join(store, 'a'));
    expect(await migrate()).toMatchObject({ moved: { count: 0 } });
    expect(readdirSync(join(outside, 'a'))).toHaveLength(1);
    rmSync(shared, { recursive: true });
    mkdirSync(shared);
    symlinkSync(outside, join(shared, '.pi'));
    const report = await migrate({ table: { ...TABLE, fallback: 'work' } }).catch(
      (error: Error) => error.message,
    );
    expect(typeof report === 'string' || report.moved.count === 0).toBe(true);
    expect(readdirSync(join(outside, 'a'))).toHaveLength(1);
    expect(places().filter((place) => place !== 'store')).toEqual([]);
  });

  it('S12: a link in a domain’s directory is not written through', async () => {
    const outside = join(root, 'outside');
    mkdirSync(outside);
    symlinkSync(outside, join(domains.work ?? '', 'a'));
    session('a', '/home/u/work/a');
    const report = await migrate();
    expect(report).toMatchObject({ moved: { count: 0 }, failed: 1 });
    expect(readdirSync(outside)).toEqual([]);
    expect(places()).toEqual(['store']);
  });
});

describe('S12: whatever happens in between', () => {
  const run = promisify(execFile);
  const options = () => JSON.stringify({ sharedRoot: shared, domains, table: TABLE, seal: SEAL });
  const child = (env: NodeJS.ProcessEnv = {}) =>
    run(process.execPath, [PROCESS, options()], { env: { ...process.env, ...env } });

  function fill(): Map<string, string> {
    for (let n = 0; n < 6; n++) session(`w${n % 2}`, `/home/u/work/${n % 2}`);
    for (let n = 0; n < 4; n++) session('p', '/home/u/work/own/p');
    session('n', '/nowhere');
    return new Map([...census()].map(([key, { hash, mtime }]) => [basename(key), `${hash} ${mtime}`]));
  }

  function expectAllOnce(before: ReadonlyMap<string, string>): void {
    const after = [...census()].map(([key, { hash, mtime }]): [string, string] => [
      basename(key),
      `${hash} ${mtime}`,
    ]);
    expect(after.sort()).toEqual([...before].sort());
    expect(places()).toEqual([...Array(4).fill('private'), 'store', ...Array(6).fill('work')]);
    expect(litter()).toEqual([]);
  }

  it('S12: killed between any two steps and run again, every Session is there exactly once', async () => {
    let before = fill();
    const { steps } = JSON.parse((await child()).stdout);
    expectAllOnce(before);
    expect(steps).toBeGreaterThan(20);
    for (let at = 1; at <= steps; at += 3) {
      for (const path of [store, ...Object.values(domains)]) {
        rmSync(path, { recursive: true });
        mkdirSync(path, { recursive: true });
        if (ROOT && path !== store) chownSync(path, OWNER.uid, OWNER.gid);
      }
      before = fill();
      await expect(child({ KILL_AT: String(at) })).rejects.toMatchObject({ signal: 'SIGKILL' });
      const { report } = JSON.parse((await child()).stdout);
      expect(report.stopped).toBeUndefined();
      expectAllOnce(before);
    }
  }, 120_000);

  it('S12: four first starts at once, of two domains, move everything once', async () => {
    const before = fill();
    const results = await Promise.all([child(), child(), child(), child()]);
    const reports = results.map(({ stdout }) => JSON.parse(stdout).report);
    expect(reports.reduce((sum, { moved }) => sum + moved.count, 0)).toBe(10);
    expectAllOnce(before);
  });

  it.skipIf(!ROOT)(
    'S12: a disk that is full stops it, nothing is lost, and with room the next one goes on',
    async () => {
      const small = domains.work ?? '';
      execFileSync('mount', [
        '-t',
        'tmpfs',
        '-o',
        `size=256k,uid=${OWNER.uid},gid=${OWNER.gid}`,
        'tmpfs',
        small,
      ]);
      try {
        for (let n = 0; n < 12; n++) session('w', '/home/u/work/w', 40_000);
        const before = [...census().values()].map(({ hash }) => hash).sort();
        const report = await migrate();
        expect(report.stopped).toMatchObject({ reason: 'no-space' });
        const both = [...census().values()].map(({ hash }) => hash);
        expect([...new Set(both)].sort()).toEqual(before);
        execFileSync('mount', ['-o', 'remount,size=8m', small]);
        expect(await migrate()).not.toHaveProperty('stopped');
        expect([...census().values()].map(({ hash }) => hash).sort()).toEqual(before);
        expect(places()).toEqual(Array(12).fill('work'));
      } finally {
        execFileSync('umount', [small]);
      }
    },
  );

  it('S12: a Session that something still writes to stays whole', async () => {
    const file = session('a', '/home/u/work/a');
    const report = await migrate({
      between: (step) => {
        if (step === 'durable') writeFileSync(file, '{"type":"message"}\n', { flag: 'a' });
      },
    });
    expect(report).toMatchObject({ moved: { count: 0 }, failed: 1 });
    expect(readFileSync(file, 'utf8')).toMatch(/\{"type":"message"\}\n$/);
    utimesSync(file, new Date(), new Date());
    expect(await migrate()).toMatchObject({ moved: { count: 1 } });
  });
});

describe('S13: what belongs to no domain', () => {
  it('S13: is told, and deleted only when asked; what waits for its domain stays', async () => {
    session('a', '/home/u/work/a');
    session('n', '/nowhere');
    writeFileSync(join(store, 'n/broken.jsonl'), 'x');
    const needs = { sharedRoot: shared, table: TABLE, seal: SEAL };
    expect(surveyLegacy(needs)).toMatchObject({
      waiting: { work: { count: 1 } },
      unowned: { count: 1 },
      damaged: { count: 1 },
    });
    const report = await clearLegacyStore(needs);
    expect(report).toMatchObject({ deleted: { count: 2 }, content: { waiting: { work: { count: 1 } } } });
    expect(places()).toEqual(['store']);
    const log = readFileSync(join(store, '.pi-sandbox-legacy-log.jsonl'), 'utf8').trim().split('\n');
    expect(log.map((line) => JSON.parse(line).file).sort()).toEqual([
      expect.stringMatching(/^n\/2026/),
      'n/broken.jsonl',
    ]);
  });
});
