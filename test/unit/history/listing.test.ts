import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { describe, expect, it, vi } from 'vitest';
import {
  exportHistory,
  exportSession,
  findSession,
  listSessions,
  newestSessionFile,
  showSession,
  summarizeHistory,
} from '../../../src/history/index.ts';
import { collect, daysAgo, makeScene } from './scene.ts';

describe('the summary', () => {
  it('S13: counts, sizes, oldest and newest, what is expired, damaged, open and in the trash', async () => {
    const scene = makeScene();
    const sizes = [
      scene.session('--p--/a.jsonl', { mtime: 40, lastEntry: 3 }),
      scene.session('--p--/b.jsonl', { mtime: 50 }),
      scene.session('flat.jsonl', { mtime: 1 }),
      scene.session('--q--/damaged.jsonl', { mtime: 60, content: 'x' }),
      scene.session('--q--/empty.jsonl', { content: '' }),
    ].map((content) => content.length);
    const trashed = scene.session('.trash/2026-11-30/--p--/t.jsonl.trashed', { mtime: 35 });
    scene.session('notes.txt', { content: 'x' });
    const release = scene.open('a', '--p--/a.jsonl');
    expect(await summarizeHistory(scene.history, scene.options())).toEqual({
      count: 5,
      bytes: sizes.reduce((sum, size) => sum + size, 0),
      oldest: daysAgo(60),
      newest: daysAgo(0),
      expired: 1,
      damaged: 2,
      open: 1,
      trash: { count: 1, bytes: trashed.length, oldest: daysAgo(35) },
      problems: { items: [{ file: 'notes.txt', kind: 'foreign', reason: expect.any(String) }], omitted: 0 },
    });
    release();
    expect(await summarizeHistory(scene.history, scene.options())).toMatchObject({ open: 0 });
  });

  it('S13: opens no file that mtime can decide', async () => {
    const scene = makeScene();
    // A header that cannot be parsed would count as damaged if it was read.
    scene.session('--p--/a.jsonl', { mtime: 20, content: 'no header' });
    expect(await summarizeHistory(scene.history, scene.options())).toMatchObject({ count: 1, damaged: 0 });
    const keepAll = { retention: { days: 0, trashDays: 7 } };
    expect(await summarizeHistory(scene.history, scene.options(keepAll))).toMatchObject({ expired: 0 });
  });

  it('S13: of an empty history there is nothing, of a missing one an error with its path', async () => {
    const scene = makeScene();
    expect(await summarizeHistory(scene.history, scene.options())).toMatchObject({
      count: 0,
      oldest: undefined,
    });
    const missing = { ...scene.history, sessions: `${scene.root}/none` };
    await expect(summarizeHistory(missing, scene.options())).rejects.toThrow(`${scene.root}/none`);
    symlinkSync(scene.root, `${scene.root}-link`);
    const linked = { ...scene.history, sessions: `${scene.root}-link` };
    await expect(summarizeHistory(linked, scene.options())).rejects.toThrow('cannot open directory');
  });

  it('S13: locks that are no files are no open Sessions, and no reason to fail', async () => {
    const scene = makeScene();
    mkdirSync(scene.history.locks);
    symlinkSync('/etc/passwd', join(scene.history.locks, 'id-x.lock'));
    execFileSync('mkfifo', [join(scene.history.locks, 'id-y.lock')]);
    expect(await summarizeHistory(scene.history, scene.options())).toMatchObject({ open: 0 });
  });
});

describe('rows', () => {
  it('S13: have name, directory, last change, size and state of each Session', async () => {
    const scene = makeScene();
    const own = scene.session('--p--/a.jsonl', { cwd: '/p/q', name: 'First name', mtime: 2 });
    scene.session('--p--/a.jsonl', {
      cwd: '/p/q',
      mtime: 2,
      content: `${own}{"type":"session_info","id":"b","parentId":null,"timestamp":"2026-11-29T12:00:00.000Z","name":"Renamed"}\n`,
    });
    scene.session('--p--/old.jsonl', { mtime: 31 });
    scene.session('--p--/torn.jsonl', { tail: '{"type":"mess' });
    scene.session('--p--/none.jsonl', { content: 'nothing' });
    scene.session('--p--/empty.jsonl', { content: '' });
    scene.session('--p--/said.jsonl', {
      tail: '{"type":"message","x":"\\"session_info\\",\\"name\\":\\"no\\""}\n',
    });
    scene.open('old', '--p--/old.jsonl');
    const rows = new Map(
      (await collect(listSessions(scene.history, scene.options()))).map((row) => [row.file, row]),
    );
    expect(rows.get('--p--/a.jsonl')).toMatchObject({
      id: 'a',
      name: 'Renamed',
      cwd: '/p/q',
      lastChange: daysAgo(2),
      open: false,
      expired: false,
      damaged: undefined,
    });
    expect(rows.get('--p--/old.jsonl')).toMatchObject({ expired: true, open: true, name: undefined });
    expect(rows.get('--p--/torn.jsonl')).toMatchObject({ id: 'torn', damaged: 'its last line is torn' });
    expect(rows.get('--p--/none.jsonl')).toMatchObject({
      id: undefined,
      damaged: 'no header of a Session',
      expired: false,
    });
    expect(rows.get('--p--/empty.jsonl')).toMatchObject({ damaged: 'empty' });
    expect(rows.get('--p--/said.jsonl')).toMatchObject({ name: undefined, damaged: undefined });
  });

  it('S13: find a name in the middle of a large file', async () => {
    const scene = makeScene();
    const line = `${JSON.stringify({ type: 'message', text: 'x'.repeat(10_000) })}\n`;
    scene.session('--p--/big.jsonl', { name: 'Big', tail: line.repeat(400) });
    expect(await collect(listSessions(scene.history, scene.options()))).toMatchObject([{ name: 'Big' }]);
  });
});

describe('finding one', () => {
  it('S13: by id, by the start of an id, by path, in the trash where none is in place', async () => {
    const scene = makeScene();
    scene.session('--p--/2026_abc-1.jsonl', { id: 'abc-1' });
    scene.session('--q--/x.jsonl', { id: 'abc-12' });
    scene.session('flat.jsonl', { id: 'other' });
    scene.session('.trash/2026-11-30/--p--/t.jsonl.trashed', { id: 'gone' });
    const find = (selector: string) => findSession(scene.history, selector);
    expect(await find('abc-1')).toEqual({ file: '--p--/2026_abc-1.jsonl', id: 'abc-1', trashed: false });
    expect(await find('abc-12')).toMatchObject({ file: '--q--/x.jsonl' });
    expect(await find('oth')).toMatchObject({ file: 'flat.jsonl' });
    expect(await find('flat.jsonl')).toMatchObject({ id: 'other' });
    expect(await find('--q--/x.jsonl')).toMatchObject({ id: 'abc-12' });
    expect(await find('gone')).toMatchObject({ trashed: true });
    await expect(find('abc')).rejects.toThrow('2 Sessions');
    for (const none of [
      '',
      'zzz',
      '--q--/none.jsonl',
      '../x.jsonl',
      '/etc/passwd',
      '.history/lock',
      'a\0.jsonl',
    ])
      await expect(find(none), none).rejects.toThrow('no Session');
  });

  it('S11: the one that pi -c continues is the newest of that very directory', () => {
    const scene = makeScene();
    scene.session('--a-b--/1.jsonl', { cwd: '/a/b', mtime: 3 });
    scene.session('--a-b--/2.jsonl', { cwd: '/a/b', mtime: 2 });
    scene.session('--a-b--/3.jsonl', { cwd: '/a-b', mtime: 1 });
    scene.session('--a-b--/4.jsonl', { content: 'x' });
    expect(newestSessionFile(scene.history, '/a/b')).toBe('--a-b--/2.jsonl');
    expect(newestSessionFile(scene.history, '/a-b')).toBe('--a-b--/3.jsonl');
    expect(newestSessionFile(scene.history, '/none')).toBeUndefined();
  });
});

describe('show and export', () => {
  it('S13: shows facts and what was said, cut', async () => {
    const scene = makeScene();
    const said = (n: number): string =>
      `${JSON.stringify({
        type: 'message',
        id: `m${n}`,
        timestamp: daysAgo(1).toISOString(),
        message: {
          role: n % 2 ? 'assistant' : 'user',
          content: [
            { type: 'text', text: `${n} ${'y'.repeat(900)}` },
            { type: 'toolCall', name: 'bash' },
          ],
        },
      })}\n`;
    const tail = `{"__proto__":1,"type":"__proto__"}\n${Array.from({ length: 100 }, (_, n) => said(n)).join('')}not json\n`;
    scene.session('--p--/a.jsonl', { name: 'Shown', tail });
    const shown = await showSession(scene.history, 'a', scene.options());
    expect(shown).toMatchObject({
      id: 'a',
      name: 'Shown',
      version: 3,
      damagedLines: 1,
      truncated: false,
      original: undefined,
    });
    expect(shown.entries).toMatchObject({ user: 51, assistant: 50, session_info: 1 });
    expect(shown.outline).toHaveLength(60);
    expect(shown.outlineOmitted).toBe(41);
    expect(shown.outline[0]).toMatchObject({ role: 'user', text: 'hello from a' });
    expect(Math.max(...shown.outline.map((entry) => entry.text.length))).toBeLessThanOrEqual(500);
  });

  it('S13: exports one byte for byte, also from the trash', async () => {
    const scene = makeScene();
    const content = scene.session('.trash/2026-11-30/--p--/t.jsonl.trashed', {
      id: 't',
      tail: 'x'.repeat(300_000),
    });
    const exported = await exportSession(scene.history, 't');
    expect(exported).toMatchObject({ bytes: content.length });
    expect(await text(exported.content)).toBe(content);
  });

  it('S13: exports a whole domain as a tar with mtimes', async () => {
    const scene = makeScene();
    scene.session('--p--/a.jsonl', { mtime: 3, tail: 'x'.repeat(700_000) });
    scene.session('flat.jsonl', { mtime: 5 });
    scene.session('.trash/2026-11-30/--p--/t.jsonl.trashed');
    symlinkSync('/etc/passwd', join(scene.root, '--p--/link.jsonl'));
    for (const [trash, names] of [
      [false, ['--p--/a.jsonl', 'flat.jsonl']],
      [true, ['--p--/a.jsonl', '.trash/2026-11-30/--p--/t.jsonl.trashed', 'flat.jsonl']],
    ] as const) {
      const tar = await buffer(await exportHistory(scene.history, { trash }));
      expect(execFileSync('tar', ['-t'], { input: tar, encoding: 'utf8' }).trim().split('\n').sort()).toEqual(
        names,
      );
      const target = `${scene.root}-${trash}`;
      mkdirSync(target);
      execFileSync('tar', ['-x', '-C', target], { input: tar });
      expect(readFileSync(join(target, '--p--/a.jsonl'), 'utf8')).toBe(scene.files()['--p--/a.jsonl']);
      expect(statSync(join(target, '--p--/a.jsonl')).mtime).toEqual(daysAgo(3));
    }
  });

  it('S13: an export that is given up leaves no file open', async () => {
    const scene = makeScene();
    for (let n = 0; n < 30; n++) scene.session(`--p--/${n}.jsonl`, { tail: 'x'.repeat(500_000) });
    const open = () =>
      readdirSync('/proc/self/fd').filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).startsWith(scene.history.sessions);
        } catch {
          // The one that this very listing had open.
          return false;
        }
      });
    const stream = await exportHistory(scene.history);
    for await (const _ of stream) break;
    await vi.waitFor(() => expect(open()).toEqual([]), 5_000);
  });
});
