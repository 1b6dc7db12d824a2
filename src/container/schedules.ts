/** The process that watches the project's schedules, begun beside a start (R10): it goes with the sandbox. */
import { join } from 'node:path';
import { pathsOf, type Roots, sandboxEnvironment } from '../agent-dir/index.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import { onceAnHour } from './beside-starts.ts';

/** A start has better things to do in its first seconds; an instant that falls into them is in time for a minute. */
const DELAY_MS = 5_000;

export interface ScheduleWatch {
  readonly roots: Roots;
  /** Absolute; nothing is watched where it is not known. */
  readonly project: string | undefined;
  readonly clock: Clock;
  readonly note: (event: string, facts: Record<string, unknown>) => void;
}

/**
 * Gives a function that a start calls with what it adds to the environment: credentials come with starts (S10), and runs
 * that are started by the clock have those of the first one.
 */
export function scheduleWatcher(
  watch: ScheduleWatch,
  delayMs: number = DELAY_MS,
): (environment: NodeJS.ProcessEnv) => void {
  const due = onceAnHour(watch.clock);
  return (environment) => {
    if (due()) setTimeout(() => void begin(watch, environment), delayMs).unref();
  };
}

/** Where one watches already, or nothing is to be watched, the new one ends by itself. */
async function begin({ roots, project, note }: ScheduleWatch, environment: NodeJS.ProcessEnv): Promise<void> {
  if (project === undefined) return;
  const [{ projectAt }, { hasSchedule, runsPlace, startScheduler }] = await Promise.all([
    import('../jobs/index.ts'),
    import('../runs/index.ts'),
  ]);
  try {
    const env = { ...process.env, ...sandboxEnvironment(roots), ...environment };
    const place = runsPlace(env, pathsOf(roots).home);
    const { real } = projectAt(project);
    if (!(await hasSchedule(place, real))) return;
    // The top storeys do not import each other; the build puts the program beside this one.
    const program = join(import.meta.dirname, 'multi-agent-scheduler.mjs');
    await startScheduler(place, real, { env, scheduler: { command: process.execPath, args: [program] } });
    note('schedules-watched', {});
  } catch (error) {
    note('schedules-not-watched', { reason: messageOf(error) });
  }
}
