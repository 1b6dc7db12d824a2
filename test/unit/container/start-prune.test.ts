import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished, vi } from 'vitest';
import { pruneBeforeStart, type Spare } from '../../../src/container/history/start-prune.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { FrameConnection, type RunRequest, SandboxConfig } from '../../../src/wire/index.ts';
import { CONFIG, makeRoots } from './sandbox.ts';

it('S11: what one start names, another that comes before its pi has opened it does not take away', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const roots = makeRoots();
  const file = join(roots.sessions, '--p--/old.jsonl');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ type: 'session', version: 3, id: 'old-1', cwd: '/p' })}\n`);
  utimesSync(file, 1_600_000_000, 1_600_000_000);
  const config = SandboxConfig.parse({ ...CONFIG, history: { retentionDays: 30, trashDays: 0 } });
  const starting = new Set<Spare>();
  const start = async (...given: string[]): Promise<void> => {
    const connection = new FrameConnection({ input: new PassThrough(), output: new PassThrough() });
    const request: Pick<RunRequest, 'program' | 'arguments' | 'directory'> = {
      program: 'pi',
      arguments: given,
      directory: '/p',
    };
    await pruneBeforeStart(
      { roots, config, clock: systemClock, starting, others: [], note: () => {} },
      connection,
      request,
    );
    connection.destroy();
  };
  await start('--session', 'old-1');
  await start('-p', 'hello');
  expect(existsSync(file)).toBe(true);
  // By then its pi has it open or has ended.
  vi.advanceTimersByTime(60_000);
  await start('-p', 'hello');
  expect(existsSync(file)).toBe(false);
});
