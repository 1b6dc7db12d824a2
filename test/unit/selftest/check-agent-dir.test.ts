import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { rowsOf } from '../../../src/cli/doctor/check-agent-dir.ts';
import { type AuditRequest, auditAnswer } from '../../../src/wire/index.ts';
import { agentDirWith, treeOf } from '../agent-dir/scene.ts';

const ENTRY = { name: 'x', kind: 'file', bytes: 5, atLeast: false, ageMs: 120_000, migrates: false } as const;

/** What the program of the image answers, run here. */
function answerOf(places: AuditRequest['places']) {
  const request = JSON.stringify({ version: 1, places });
  const program = new URL('../../../src/container/audit.ts', import.meta.url).pathname;
  const output = execFileSync(process.execPath, [program, request], { encoding: 'utf8' });
  return auditAnswer().parse(JSON.parse(output));
}

describe('W12: doctor of a project', () => {
  it('W12: the program in the image tells what lies in each place, and changes nothing', () => {
    const tree = { 'settings.json': '{}', 'report.txt': '12345', kept: 'link:/x' };
    const path = agentDirWith(tree);
    const answer = answerOf([
      { where: 'the shared volume', path, skipLinks: true },
      { where: 'the domain volume', path: `${path}/settings.json`, skipLinks: false },
      { where: 'nowhere', path: `${path}/none`, skipLinks: false },
    ]);
    expect(answer.places).toEqual([
      {
        where: 'the shared volume',
        entries: [expect.objectContaining({ name: 'report.txt', bytes: 5 })],
        omitted: 0,
        cut: false,
      },
      { where: 'the domain volume', problem: expect.stringContaining('cannot open directory') },
    ]);
    expect(treeOf(path)).toEqual(tree);
  });

  it('W12: is silent about a place in which everything belongs', () => {
    expect(rowsOf({ where: 'the domain volume', entries: [], omitted: 0, cut: false }, '/p')).toEqual([]);
  });

  it('W12: warns of each entry with its size and age, and of what was not listed or not looked at', () => {
    const entries = [
      ENTRY,
      { ...ENTRY, name: 'backups', kind: 'directory' as const, atLeast: true, migrates: true },
    ];
    const rows = rowsOf({ where: 'the shared volume', entries, omitted: 3, cut: true }, '/p');
    expect(rows.map(({ result, detail, advice }) => [result, detail, advice])).toEqual([
      ['warning', 'the shared volume: x, 5 B, 2 minutes old', 'look at it: pi-sandbox shell /p'],
      [
        'warning',
        'the shared volume: backups/, at least 5 B, 2 minutes old',
        'a start that is alone on the volume moves it',
      ],
      ['warning', 'the shared volume: and 3 more', 'look at it: pi-sandbox shell /p'],
      ['warning', 'the shared volume: too many entries to look at all', 'look at it: pi-sandbox shell /p'],
    ]);
  });

  it('W12: a place that cannot be looked at is a problem', () => {
    expect(rowsOf({ where: 'the domain volume', problem: 'cannot open' }, '/p')).toMatchObject([
      { result: 'problem' },
    ]);
  });
});
