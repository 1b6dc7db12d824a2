import { describe, expect, it } from 'vitest';
import { namedSessions } from '../../../src/pi/index.ts';

const NOTHING = { ids: [], files: [], newest: false, choice: false, directory: undefined };

describe('S11: the Sessions that a start names', () => {
  it('S11: a plain start names none', () => {
    expect(namedSessions([])).toEqual(NOTHING);
    expect(namedSessions(['-p', 'what is this?', '--model', 'demo/demo-1'])).toEqual(NOTHING);
  });

  it('S11: --session takes an id, the beginning of one, or a file', () => {
    expect(namedSessions(['--session', '01a22dde'])).toEqual({ ...NOTHING, ids: ['01a22dde'] });
    expect(namedSessions(['--session', 'talks/one.jsonl'])).toEqual({
      ...NOTHING,
      files: ['talks/one.jsonl'],
    });
    expect(namedSessions(['--session', 'one.jsonl']).files).toEqual(['one.jsonl']);
    expect(namedSessions(['--session=01a22dde']).ids).toEqual(['01a22dde']);
  });

  it('S11: what is forked, exported or created by id counts as named', () => {
    expect(namedSessions(['--fork', 'abc', '--session-id', 'copy']).ids).toEqual(['abc', 'copy']);
    expect(namedSessions(['--export', '/tmp/x.jsonl', 'out.html']).files).toEqual(['/tmp/x.jsonl']);
  });

  it.each(['-c', '--continue'])('S11: %s names the newest of the working directory', (option) => {
    expect(namedSessions([option, '-p', 'go on'])).toEqual({ ...NOTHING, newest: true });
  });

  it.each(['-r', '--resume'])('S11: with %s the user is about to choose', (option) => {
    expect(namedSessions([option])).toEqual({ ...NOTHING, choice: true });
  });

  it('S11: a directory of its own is told', () => {
    expect(namedSessions(['--session-dir', '~/talks', '-c']).directory).toBe('~/talks');
  });

  it('S11: behind -- stands text for the model only', () => {
    expect(namedSessions(['-p', '--', '-c', '--session', 'abc'])).toEqual(NOTHING);
  });

  it('S11: an option without its value names nothing', () => {
    expect(namedSessions(['--session'])).toEqual(NOTHING);
    expect(namedSessions(['--session', ''])).toEqual(NOTHING);
  });
});
