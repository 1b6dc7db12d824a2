import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pathsOf, type Roots } from '../../../src/agent-dir/index.ts';
import { namedHere } from '../../../src/container/history/spare.ts';
import { isNamed } from '../../../src/history/index.ts';
import { parseSessionId } from '../../../src/pi/index.ts';
import type { RunRequest } from '../../../src/wire/index.ts';
import { makeRoots } from './sandbox.ts';

const CWD = '/work/shop';
const FOLDER = '--work-shop--';
const OTHER = '--work-other--';

/** A Session `daysAgo` old; its path below the history. */
function session(roots: Roots, path: string, id: string, daysAgo: number, cwd = CWD): string {
  const file = join(roots.sessions, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ type: 'session', version: 3, id, cwd })}\n`);
  const time = Date.now() / 1000 - daysAgo * 86_400;
  utimesSync(file, time, time);
  return path;
}

function world() {
  const roots = makeRoots();
  return {
    roots,
    newest: session(roots, `${FOLDER}/2026_new-1.jsonl`, 'new-1', 40),
    older: session(roots, `${FOLDER}/2025_old-1.jsonl`, 'old-1', 90),
    other: session(roots, `${OTHER}/2026_other-1.jsonl`, 'other-1', 60, '/work/other'),
    flat: session(roots, '2026_flat-1.jsonl', 'flat-1', 50),
  };
}

/** Ids that a start with these arguments spares. */
function spared(
  { roots, newest, older, other, flat }: ReturnType<typeof world>,
  given: string[],
  program: RunRequest['program'] = 'pi',
): string[] {
  const history = { sessions: roots.sessions, locks: pathsOf(roots).sessionLocks };
  const named = namedHere(roots, history, { program, arguments: given, directory: CWD });
  return [newest, older, other, flat].flatMap((file) => {
    const id = parseSessionId(/_(.*)\.jsonl$/.exec(file)?.[1] ?? '');
    if (id === undefined) throw new Error(`${file} has no id`);
    return isNamed(named, { file, id }) ? [id] : [];
  });
}

describe('S11: a start leaves alone what it names', () => {
  it('S11: a start that names nothing spares nothing', () => {
    expect(spared(world(), ['-p', 'hello'])).toEqual([]);
    expect(spared(world(), ['-c'], 'shell')).toEqual([]);
  });

  it('S11: the Session of an id, and of its beginning, in whatever folder', () => {
    expect(spared(world(), ['--session', 'other-1'])).toEqual(['other-1']);
    expect(spared(world(), ['--fork', 'oth'])).toEqual(['other-1']);
  });

  it('S11: the file that is given, by whatever path leads to it', () => {
    const here = world();
    const link = join(here.roots.memory, 'linked');
    symlinkSync(here.roots.sessions, link);
    expect(spared(here, ['--session', join(here.roots.sessions, here.older)])).toEqual(['old-1']);
    expect(spared(here, ['--session', join(link, here.older)])).toEqual(['old-1']);
    const home = pathsOf(here.roots).home;
    mkdirSync(home, { recursive: true });
    symlinkSync(here.roots.sessions, join(home, 'talks'));
    expect(spared(here, ['--session', `~/talks/${here.flat}`])).toEqual(['flat-1']);
  });

  it('S11: with -c the newest of the working directory', () => {
    expect(spared(world(), ['-c'])).toEqual(['new-1']);
    expect(spared(world(), ['pi', '--continue'], 'command')).toEqual(['new-1']);
  });

  it('S11: with -r everything that is about to be shown', () => {
    expect(spared(world(), ['-r'])).toEqual(['new-1', 'old-1']);
  });

  it('S11: a --session-dir within the history in which -c looks', () => {
    const here = world();
    expect(spared(here, ['--session-dir', here.roots.sessions, '-c'])).toContain('flat-1');
    expect(spared(here, ['--session-dir', '/elsewhere', '-r'])).toEqual(['new-1', 'old-1']);
  });
});
