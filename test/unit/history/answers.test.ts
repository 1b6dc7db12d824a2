import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answer } from '../../../src/container/history/answer.ts';
import { HISTORY_VERSION, type HistoryAnswer, historyAnswer } from '../../../src/wire/index.ts';
import { smallDisk } from '../lib/temporary.ts';
import { makeScene, NOW, RETENTION, type Scene } from './scene.ts';

type Asked = Parameters<typeof answer>[1];
type WithoutVersion<T> = T extends unknown ? Omit<T, 'version'> : never;

/** What the host reads of an answer; fails for a line that it would not understand. */
async function asked({ history }: Scene, request: WithoutVersion<Asked>): Promise<HistoryAnswer[]> {
  const schema = historyAnswer();
  const lines: HistoryAnswer[] = [];
  for await (const line of answer(history, { version: HISTORY_VERSION, ...request }))
    lines.push(schema.parse(JSON.parse(JSON.stringify(line))));
  return lines;
}

const NO_DATE = '+123456-01-01T00:00:00.000Z';

describe('rule 8: whatever stands in a history, the answer about it is one that the host understands', () => {
  it('S13: lines of the log that no writer of ours makes are damaged ones, and the others are told', async () => {
    const scene = makeScene();
    const whole = {
      version: 1,
      kind: 'intent',
      batch: 'b',
      at: NOW.toISOString(),
      action: 'deleted',
      why: 'asked',
      file: 'a.jsonl',
      bytes: 1,
    };
    const planted = [
      { bytes: -1 },
      { bytes: 1e300 },
      { days: -3 },
      { days: 1.5e300 },
      { at: NO_DATE },
      { at: 'yesterday' },
      { lastChange: NO_DATE },
      { file: 'x'.repeat(10_000) },
    ].map((facts) => JSON.stringify({ ...whole, ...facts }));
    mkdirSync(join(scene.root, '.history'));
    const lines = [...planted, 'null', '{', JSON.stringify(whole)];
    writeFileSync(join(scene.root, '.history/deletions.log'), lines.join('\n'));
    const told = await asked(scene, { verb: 'log', last: 100 });
    expect(told).toHaveLength(3);
    expect(told[0]).not.toHaveProperty('lastChange');
    expect(told[1]).toMatchObject({ file: 'a.jsonl', bytes: 1 });
    expect(told[2]).toMatchObject({ type: 'skipped', lines: 9 });
  });

  it('S13: a Session that was begun or went on in the year 123,456 is shown without that', async () => {
    const scene = makeScene();
    const content = [
      { type: 'session', version: 3, id: 'abc', timestamp: NO_DATE, cwd: '/p' },
      { type: 'message', timestamp: NO_DATE, message: { role: '__proto__', content: 'hello' } },
    ];
    scene.session('--p--/s.jsonl', { content: content.map((line) => JSON.stringify(line)).join('\n') });
    const [shown] = await asked(scene, { verb: 'show', selector: 'abc', retention: RETENTION });
    expect(shown).toMatchObject({ id: 'abc', outline: [{ role: '__proto__', text: 'hello' }] });
    expect(shown).not.toHaveProperty('created');
  });

  it('S13: times of files that are no dates keep nothing from being listed, pruned and cleared', async (context) => {
    // A file system that has such times.
    const disk = smallDisk(2_048);
    if ('skip' in disk) return context.skip(disk.skip);
    const scene = makeScene(disk.path);
    const files = ['--p--/headless.jsonl', '--p--/empty.jsonl', '--p--/whole.jsonl'];
    for (const seconds of [99_999_999_999_999, -99_999_999_999_999]) {
      scene.session('--p--/headless.jsonl', { content: 'no header' });
      scene.session('--p--/empty.jsonl', { content: '' });
      scene.session('--p--/whole.jsonl', { id: 'whole' });
      for (const file of files) execFileSync('touch', ['-d', `@${seconds}`, join(scene.root, file)]);
      const listing = { retention: RETENTION, sessions: true, trash: true };
      const [summary, ...rows] = await asked(scene, { verb: 'list', ...listing });
      expect(summary).toMatchObject({ count: 3 });
      expect(rows).toHaveLength(3);
      await asked(scene, { verb: 'prune', retention: RETENTION, dryRun: false });
      const [cleared] = await asked(scene, { verb: 'clear', force: false });
      expect(cleared).toMatchObject({ problems: { items: [] } });
      expect(scene.files()).toEqual({});
    }
  });
});
