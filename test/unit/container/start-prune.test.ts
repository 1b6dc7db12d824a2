import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { pruneBeforeStart } from '../../../src/container/history/start-prune.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { tryLock } from '../../../src/lib/kernel-lock.ts';
import { FrameConnection, SandboxConfig } from '../../../src/wire/index.ts';
import { CONFIG, makeRoots } from './sandbox.ts';

const FOLDER = '--p--';
const FILE = `${FOLDER}/2020-09-13T12-26-40-000Z_old-1.jsonl`;

/** A history with one Session that expired long ago; each start is one of another sandbox of the domain. */
function world({ trashDays = 0 } = {}) {
  const roots = makeRoots();
  const file = join(roots.sessions, FILE);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ type: 'session', version: 3, id: 'old-1', cwd: '/p' })}\n`);
  utimesSync(file, 1_600_000_000, 1_600_000_000);
  const config = SandboxConfig.parse({ ...CONFIG, history: { retentionDays: 30, trashDays } });
  /** What the user of the start is told. */
  const start = async (given: string[], secondsLater = 0, directory = '/p'): Promise<string[]> => {
    const [there, back] = [new PassThrough(), new PassThrough()];
    const connection = new FrameConnection({ input: back, output: there });
    const user = new FrameConnection({ input: there, output: back });
    const told: string[] = [];
    user.onFrame((frame) => {
      if (frame.type === 'status') told.push(frame.value.text);
    });
    const clock = { ...systemClock, now: () => new Date(Date.now() + secondsLater * 1_000) };
    await pruneBeforeStart({ roots, config, clock, others: [], note: () => {} }, connection, {
      program: 'pi',
      arguments: given,
      directory,
    });
    await connection.end();
    connection.destroy();
    user.destroy();
    return told;
  };
  return { roots, file, start };
}

it('S11: what one start names, that of another sandbox which comes before its pi has opened it does not take away', async () => {
  const { file, start } = world();
  for (const named of [['--session', 'old-1'], ['--session', 'ol'], ['-c']]) {
    await start(named);
    await start(['-p', 'hello'], 1);
    expect(existsSync(file)).toBe(true);
  }
  // By then its pi has it open or has ended.
  await start(['-p', 'hello'], 61);
  expect(existsSync(file)).toBe(false);
});

it('S11: what a start names is forgotten after its minute', async () => {
  const { roots, start } = world();
  await start(['-c']);
  const marks = () =>
    readdirSync(join(roots.sessions, '.history')).filter((name) => name.startsWith('starting-'));
  expect(marks()).toHaveLength(1);
  await start(['-p', 'hello'], 61);
  expect(marks()).toEqual([]);
});

it('S11: what another sandbox took in the moment before is back before its pi looks for it, and that is said', async () => {
  const { file, start } = world({ trashDays: 7 });
  await start(['-p', 'hello']);
  expect(existsSync(file)).toBe(false);
  expect(await start(['--session', 'old-1'])).toEqual([
    'the Session old-1 was in the trash and is back, since this start names it',
  ]);
  expect(existsSync(file)).toBe(true);
  // Its age has begun anew.
  expect(await start(['-p', 'hello'], 61)).toEqual([]);
});

it('S11: a start whose prune has to wait for another keeps what it names all the same', async () => {
  const { roots, file, start } = world();
  const own = join(roots.sessions, '.history');
  mkdirSync(own, { mode: 0o700 });
  const lock = tryLock(join(own, 'lock'));
  onTestFinished(() => lock?.release());
  await start(['--session', 'old-1']);
  lock?.release();
  await start(['-p', 'hello']);
  expect(existsSync(file)).toBe(true);
});

it('S11: where it cannot be told what a start names nothing is pruned, which is said, and the start goes on', async () => {
  const { file, start } = world();
  // A longer name than a folder can have.
  const told = await start(['-c'], 0, `/${'x'.repeat(300)}`);
  expect(told).toEqual([
    expect.stringMatching(/^old Sessions were not all pruned: .*the next start tries again$/),
  ]);
  expect(existsSync(file)).toBe(true);
});
