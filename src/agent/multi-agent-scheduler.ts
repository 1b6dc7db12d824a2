/**
 * Watches the schedules of one project (R10): `multi-agent-scheduler <real path of the project>`. `schedule add` starts it,
 * and a sandbox that has something to watch. It announces itself to nobody: a sandbox ends as if it were not there, and only
 * the runs that it starts keep one up.
 */
import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import { type FireReport, launchOwner, runScheduler, runsPlace } from '../runs/index.ts';

const [, , project = ''] = process.argv;
const { env } = process;
const stop = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => stop.abort());
let told = '';

/** The same problem is met again and again: it is told when it changes. */
function tell({ problems }: FireReport): void {
  const text = problems.map(({ schedule, reason }) => `${schedule ?? 'schedules'}: ${reason}\n`).join('');
  if (text !== told) log(text);
  told = text;
}

function log(text: string): void {
  if (text !== '') process.stderr.write(`${systemClock.now().toISOString()} ${project}\n${text}`);
}

try {
  await runScheduler(runsPlace(env, homedir()), {
    env,
    project,
    clock: systemClock,
    identity: { pid: process.pid, host: env.PI_SANDBOX_NAME ?? hostname(), uid: process.getuid?.() ?? 0 },
    // The build puts it beside this program.
    launch: (held) =>
      launchOwner(held, {
        env,
        owner: { command: process.execPath, args: [join(import.meta.dirname, 'multi-agent-owner.mjs')] },
      }),
    onReport: tell,
    signal: stop.signal,
  });
} catch (error) {
  log(`${messageOf(error)}\n`);
  process.exitCode = 1;
}
