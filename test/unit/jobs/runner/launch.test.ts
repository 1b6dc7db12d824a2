import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  endJobProcesses,
  type HeldJob,
  jobFile,
  LOCK_FILE,
  launchRunner,
  RunnerStartError,
} from '../../../../src/jobs/index.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { isHeld } from '../../../../src/lib/kernel-lock.ts';
import { watchUntil } from '../../../setup/job-socket.ts';
import { fileOf, type JobWorld, jobWorld } from '../../../setup/job-world.ts';
import { until } from '../../../setup/pi.ts';

let world: JobWorld;
beforeAll(async () => {
  world = await jobWorld();
});
afterAll(() => world.stop());

const program = join(import.meta.dirname, '../../../../src/agent/multi-agent-runner.ts');
const runner = { command: process.execPath, args: [program] };

async function launch(name: string, record: Parameters<JobWorld['hold']>[2] = {}): Promise<HeldJob> {
  const held = await world.hold(name, `${name} now`, record);
  const env = { ...world.env, MULTI_AGENT_JOB: '/another/job', MULTI_AGENT_DEPTH: '7' };
  await launchRunner(held, { clock: systemClock, env, runner });
  return held;
}

function ended({ directory }: HeldJob): boolean {
  return fileOf(directory, 'exit_code') !== undefined && !isHeld(jobFile(directory, LOCK_FILE));
}

function environ(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

function pids(): number[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

function runnerOf({ directory }: HeldJob): number {
  const found = pids().find((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return words.includes(program) && words.includes(directory);
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new Error('no runner');
  return found;
}

function processesOf({ directory }: HeldJob): number[] {
  return pids().filter((pid) => environ(pid).includes(`MULTI_AGENT_JOB=${directory}`));
}

const tool = (text: string): boolean => text.startsWith('tool');

describe('a runner in the background (J2, J4)', () => {
  it('J2: takes the lock over and sees the run to its end', async () => {
    world.model.say('launch', 'launched');
    const held = await launch('launch');
    expect(isHeld(jobFile(held.directory, LOCK_FILE))).toBe(true);
    await until('the end', () => ended(held));
    expect(fileOf(held.directory, 'status')).toBe('done');
    expect(fileOf(held.directory, 'output.txt')).toBe('launched');
    expect(fileOf(held.directory, 'runner.log')).toBe('');
  });

  it('J4: is alone in its session, and only pi has the job in its environment', async () => {
    world.model.callBash('alone', 'sleep 100', 'x');
    const held = await launch('alone');
    await watchUntil(held, tool);
    const pid = runnerOf(held);
    expect(environ(pid).filter((variable) => variable.startsWith('MULTI_AGENT_JOB='))).toEqual([]);
    expect(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /, '').split(' ')[3]).toBe(String(pid));
    expect(readlinkSync(`/proc/${pid}/cwd`)).toBe('/');
    // pi, and its tool.
    await until('the tool', () => processesOf(held).length >= 2);
    expect(processesOf(held)).not.toContain(pid);
    process.kill(pid, 'SIGTERM');
    await until('the end', () => ended(held));
  });

  it('J6: SIGTERM kills the job, with all that its tools left', async () => {
    world.model.callBash('leave', '(setsid sleep 12345 &) ; sleep 100; true', 'x');
    const held = await launch('leave');
    await watchUntil(held, tool);
    const mine = (): number[] => processesOf(held);
    await until('the tools', () => mine().length >= 4);
    process.kill(runnerOf(held), 'SIGTERM');
    await until('the end', () => ended(held));
    expect(fileOf(held.directory, 'status')).toBe('killed');
    expect(mine()).toEqual([]);
  });

  it('J11: SIGKILL of the runner frees the lock at once, and pi ends', async () => {
    world.model.callBash('murder', 'sleep 100', 'x');
    const held = await launch('murder');
    await watchUntil(held, tool);
    // Who watches may hear of a turn before the file of its status is written.
    await until('its status', () => fileOf(held.directory, 'status') === 'running');
    const mine = (): number[] => processesOf(held);
    process.kill(runnerOf(held), 'SIGKILL');
    await until('a free lock', () => !isHeld(jobFile(held.directory, LOCK_FILE)), 10_000);
    expect(fileOf(held.directory, 'exit_code')).toBeUndefined();
    expect(fileOf(held.directory, 'status')).toBe('running');
    await until('the end of pi', () => mine().length === 0);
  });

  it('J2: what a dead runner’s pi left is found by the next', async () => {
    world.model.callBash('leftover', '(setsid sleep 12346 &) ; sleep 100; true', 'x');
    const held = await launch('leftover');
    await watchUntil(held, tool);
    const mine = (): number[] => processesOf(held);
    await until('the tools', () => mine().length >= 4);
    process.kill(runnerOf(held), 'SIGKILL');
    await until('the end of pi', () => mine().length === 1);
    expect((await endJobProcesses(held.directory, { clock: systemClock, graceMs: 1_000 })).survivors).toEqual(
      [],
    );
    expect(mine()).toEqual([]);
  });

  it('J11: a job whose record is broken by now ends as died, and runner.log says why', async () => {
    const held = await world.hold('broken', 'x');
    writeFileSync(join(held.directory, 'job.json'), '{');
    await launchRunner(held, { clock: systemClock, env: world.env, runner });
    await until('a free lock', () => !isHeld(jobFile(held.directory, LOCK_FILE)));
    expect(fileOf(held.directory, 'exit_code')).toBeUndefined();
    expect(fileOf(held.directory, 'runner.log')).toContain('job.json is not JSON');
  });

  it('J4: that cannot be started leaves a job that has failed', async () => {
    const held = await world.hold('unstarted', 'x');
    const nowhere = { command: '/nowhere/node', args: [] };
    await expect(launchRunner(held, { clock: systemClock, env: world.env, runner: nowhere })).rejects.toThrow(
      RunnerStartError,
    );
    expect(ended(held)).toBe(true);
    expect(fileOf(held.directory, 'status')).toBe('failed');
    expect(fileOf(held.directory, 'reason')).toMatch(/^not-started: .*\/nowhere\/node/);
  });

  it('J8: more than may run at once wait their turn, and say which', async () => {
    world.model.callBash('crowd', 'sleep 0.3', 'through');
    const env = { ...world.env, MULTI_AGENT_MAX_RUNNING: '1' };
    const jobs: HeldJob[] = [];
    for (const name of ['crowd-1', 'crowd-2', 'crowd-3']) {
      const held = await world.hold(name, 'crowd', { depth: 5 });
      await launchRunner(held, { clock: systemClock, env, runner });
      jobs.push(held);
    }
    const [, , last] = jobs;
    if (!last) throw new Error('no job');
    const seen = await watchUntil(last, (text) => text.startsWith('end'));
    expect(seen.filter((text) => text.startsWith('status starting'))).not.toEqual([]);
    expect(seen.at(-1)).toBe('end done');
    await until('all ends', () => jobs.every(ended));
    expect(jobs.map(({ directory }) => fileOf(directory, 'status'))).toEqual(['done', 'done', 'done']);
  });
});
