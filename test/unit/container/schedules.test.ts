import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { pathsOf, sandboxEnvironment } from '../../../src/agent-dir/index.ts';
import { scheduleWatcher } from '../../../src/container/schedules.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { addSchedule, runsPlace, schedulesDirectory } from '../../../src/runs/index.ts';
import { newSchedule } from '../../setup/schedule-world.ts';
import { makeRoots, temporary } from './sandbox.ts';

function scene() {
  const roots = makeRoots();
  const project = temporary();
  const place = runsPlace(sandboxEnvironment(roots), pathsOf(roots).home);
  const notes: string[] = [];
  const note = (event: string): void => void notes.push(event);
  const begin = scheduleWatcher({ roots, project, clock: systemClock, note }, 0);
  const identity = { pid: process.pid, host: 'box', uid: process.getuid?.() ?? 0 };
  const add = () => addSchedule(place, newSchedule(project, 'noon'), { clock: systemClock, identity });
  return { place, notes, begin, add };
}

it('R10: beside a start the process that watches the project’s schedules is begun', async () => {
  const { place, notes, begin, add } = scene();
  await add();
  begin({});
  await vi.waitFor(() => expect(notes).toEqual(['schedules-watched']), { timeout: 10_000 });
  // It is not built here, which its log says.
  const log = join(schedulesDirectory(place), 'scheduler.log');
  await vi.waitFor(() => expect(readFileSync(log, 'utf8')).toContain('multi-agent-scheduler.mjs'), {
    timeout: 10_000,
  });
});

it('R10: a project without schedules has no such process', async () => {
  const { notes, begin } = scene();
  begin({});
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(notes).toEqual([]);
});
