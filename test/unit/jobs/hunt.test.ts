import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { jobProcesses } from '../../../src/jobs/hunt/find.ts';
import { type ProcessTable, processTable } from '../../../src/jobs/hunt/process-table.ts';
import { detachedEnvironment, endJobProcesses } from '../../../src/jobs/index.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { until } from '../../setup/pi.ts';
import { temporaryDirectory } from '../lib/temporary.ts';

const clock = systemClock;
const { PATH } = process.env;

/** A shell as a job's pi is started: with the job in its environment, in a group of its own. */
function shell(job: string | undefined, script: string, more: NodeJS.ProcessEnv = {}): ChildProcess {
  const env = { PATH, ...(job !== undefined && { MULTI_AGENT_JOB: job }), ...more };
  const child = spawn('/bin/bash', ['-c', script], { env, stdio: 'ignore', detached: true });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return child;
}

/** Ids of the live processes whose command line has this mark. */
function marked(mark: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const alive = !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
        return alive && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(mark);
      } catch {
        return false;
      }
    });
}

let count = 0;
/** A number of seconds that nobody else sleeps. */
function mark(): string {
  count++;
  return `${10_000 + (process.pid % 10_000)}.${process.pid}${count}`;
}

const marks: string[] = [];
afterEach(() => {
  for (const used of marks.splice(0)) for (const pid of marked(used)) process.kill(pid, 'SIGKILL');
});

function sleeper(): string {
  const used = mark();
  marks.push(used);
  return used;
}

describe('ending what a job left (J4)', () => {
  it.each([
    ['a child in a session of its own', (time: string) => `setsid sleep ${time} & sleep 0.1`],
    ['a grandchild whose parent has ended', (time: string) => `(sleep ${time} &)`],
    ['one that ignores SIGHUP', (time: string) => `nohup sleep ${time} >/dev/null 2>&1 & sleep 0.1`],
    ['one that ignores SIGTERM', (time: string) => `trap '' TERM; sleep ${time}`],
    ['a daemon, forked twice', (time: string) => `setsid bash -c "(sleep ${time} &)" & sleep 0.1`],
  ])('J4: %s', async (_, script) => {
    const [job, time] = [temporaryDirectory(), sleeper()];
    shell(job, script(time));
    await until('the sleeper', () => marked(`sleep\0${time}`).length > 0);
    const report = await endJobProcesses(job, { clock });
    expect(report.survivors).toEqual([]);
    expect(report.ended).toBeGreaterThan(0);
    expect(marked(time)).toEqual([]);
  });

  it('J4: one without any environment, by its descent', async () => {
    const [job, time] = [temporaryDirectory(), sleeper()];
    shell(job, `env -i /bin/sleep ${time}; true`);
    await until('the sleeper', () => marked(`sleep\0${time}`).length > 0);
    await endJobProcesses(job, { clock });
    expect(marked(time)).toEqual([]);
  });

  it('J4: one without environment and parent, as it was seen before', async () => {
    const [job, time] = [temporaryDirectory(), sleeper()];
    const child = shell(job, `env -i /bin/sleep ${time} & wait`);
    await until('the sleeper', () => marked(`sleep\0${time}`).length > 0);
    const seen = new Map(
      jobProcesses(processTable(), job, new Map()).map(({ pid, started }) => [pid, started]),
    );
    child.kill('SIGKILL');
    await until('the parent’s end', () => marked('wait').length === 0 || child.signalCode !== null);
    expect((await endJobProcesses(job, { clock, seen })).ended).toBe(1);
    expect(marked(time)).toEqual([]);
  });

  it('J4: only what is not older, where it is known since when anything can be the job’s', async () => {
    const [job, time] = [temporaryDirectory(), sleeper()];
    shell(job, `sleep ${time} & wait`);
    await until('the sleeper', () => marked(`sleep\0${time}`).length > 0);
    const [pid = 0] = marked(`sleep\0${time}`);
    const { started = '' } = processTable().look(pid) ?? {};
    const later = String(Number(started) + 1);
    expect(jobProcesses(processTable(), job, new Map(), { since: later })).toEqual([]);
    expect(
      jobProcesses(processTable(), job, new Map(), { since: started }).map((each) => each.pid),
    ).toContain(pid);
  });

  it('J4: a storm of forks', async () => {
    const [job, time] = [temporaryDirectory(), sleeper()];
    shell(job, `storm() { while :; do (sleep ${time} &) ; sleep 0.01; done; }; storm & storm & storm & wait`);
    await until('the storm', () => marked(`sleep\0${time}`).length > 20);
    expect((await endJobProcesses(job, { clock })).survivors).toEqual([]);
    expect(marked(time)).toEqual([]);
  });

  it('J4: politely first, where that is asked for', async () => {
    const [job, told] = [temporaryDirectory(), join(temporaryDirectory(), 'told')];
    const time = sleeper();
    shell(job, `trap 'echo term > ${told}; exit' TERM; sleep ${time} & wait`);
    await until('the sleeper', () => marked(`sleep\0${time}`).length > 0);
    await endJobProcesses(job, { clock, graceMs: 2_000 });
    expect(readFileSync(told, 'utf8')).toBe('term\n');
    expect(marked(time)).toEqual([]);
  });
});

describe('what is not a job’s (J4)', () => {
  it('J4: other processes, other jobs, and a job whose directory begins alike, are left alone', async () => {
    const [job, time] = [temporaryDirectory(), sleeper()];
    for (const other of [undefined, temporaryDirectory(), `${job}-2`, job.slice(0, -1)]) {
      shell(other, `sleep ${time}`);
    }
    shell(undefined, `sleep ${time}`, { OTHER: `MULTI_AGENT_JOB=${job}`, MULTI_AGENT_JOBS: job });
    await until('all of them', () => marked(`sleep\0${time}`).length === 5);
    expect(await endJobProcesses(job, { clock })).toEqual({ ended: 0, survivors: [] });
    expect(marked(`sleep\0${time}`)).toHaveLength(5);
  });

  it('J4: a detached process of ours that the job started, and what that started', async () => {
    const [job, time] = [temporaryDirectory(), sleeper()];
    const marks = Object.entries(detachedEnvironment({}))
      .map(([name, value]) => `${name}=${value}`)
      .join(' ');
    // Its parent is the job's as long as both live.
    shell(job, `env -u MULTI_AGENT_JOB ${marks} bash -c "sleep ${time}; true" & wait`);
    await until('the sleeper', () => marked(`sleep\0${time}`).length > 0);
    await endJobProcesses(job, { clock });
    expect(marked(`sleep\0${time}`)).toHaveLength(1);
  });

  it('J4: a child job’s pi below a runner in the foreground, and its tools', async () => {
    const [job, child, time] = [temporaryDirectory(), temporaryDirectory(), sleeper()];
    shell(job, `MULTI_AGENT_JOB=${child} bash -c "env -i /bin/sleep ${time}; true" & wait`);
    await until('the sleeper', () => marked(`sleep\0${time}`).length > 0);
    await endJobProcesses(job, { clock });
    expect(marked(`sleep\0${time}`)).toHaveLength(1);
    await endJobProcesses(child, { clock });
  });

  it('J4: whoever asks, and what is above it', async () => {
    const job = temporaryDirectory();
    const file = join(import.meta.dirname, '../../../src/jobs/hunt/end-processes.ts');
    const clockFile = join(import.meta.dirname, '../../../src/lib/clock.ts');
    const script = `const { endJobProcesses } = await import(${JSON.stringify(file)});
      const { systemClock } = await import(${JSON.stringify(clockFile)});
      const { survivors } = await endJobProcesses(${JSON.stringify(job)}, { clock: systemClock });
      process.exitCode = survivors.length;`;
    const env = { PATH, MULTI_AGENT_JOB: job, SCRIPT: script, NODE: process.execPath };
    const asking = spawn('/bin/bash', ['-c', '"$NODE" --input-type=module -e "$SCRIPT"; exit $?'], {
      env,
      stdio: 'ignore',
    });
    expect(await new Promise((resolve) => asking.once('exit', (...end) => resolve(end)))).toEqual([0, null]);
  });

  it('J4: a process that got the number of one that was seen', async () => {
    const [job, time] = [temporaryDirectory(), sleeper()];
    const other = shell(undefined, `exec sleep ${time}`);
    await until('the sleeper', () => marked(`sleep\0${time}`).length > 0);
    const seen = new Map([[other.pid ?? 0, 'another time']]);
    expect((await endJobProcesses(job, { clock, seen })).ended).toBe(0);
    expect(marked(time)).toHaveLength(1);
  });

  it('J4: a process that takes the number between the look and the signal', async () => {
    const [job, time] = [temporaryDirectory(), sleeper()];
    const other = shell(undefined, `exec sleep ${time}`);
    await until('the sleeper', () => marked(`sleep\0${time}`).length > 0);
    const real = processTable();
    const pid = other.pid ?? 0;
    let looks = 0;
    const table: ProcessTable = {
      ...real,
      // The first looks show one that has ended since.
      list: () => (looks++ < 3 ? [{ pid, parent: 1, started: 'before' }] : []),
      isOlder: () => false,
      environment: () => [`MULTI_AGENT_JOB=${job}`],
    };
    expect((await endJobProcesses(job, { clock, table })).ended).toBe(0);
    expect(marked(time)).toHaveLength(1);
    expect(readFileSync(`/proc/${pid}/stat`, 'latin1')).toMatch(/\) S /);
  });
});
