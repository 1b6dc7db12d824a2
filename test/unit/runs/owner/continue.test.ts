import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { jobFile, LOCK_FILE } from '../../../../src/jobs/index.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { isHeld } from '../../../../src/lib/kernel-lock.ts';
import {
  endOrphan,
  type HeldRun,
  launchOwner,
  OwnerStartError,
  ownerLog,
  ownRun,
  runLock,
  sendToStep,
  sweepRuns,
} from '../../../../src/runs/index.ts';
import { builtProgram } from '../../../setup/built-program.ts';
import { fileOf } from '../../../setup/job-world.ts';
import { until } from '../../../setup/pi.ts';
import {
  eventsOf,
  outputOf,
  type RunWorld,
  runWorld,
  stateOf,
  statusesOf,
  untilState,
} from '../../../setup/run-world.ts';

const DIES = { toolCalls: [{ id: 'call_1', name: 'bash', arguments: '{"command":"sleep 100"}' }] };

let world: RunWorld;
let program: string;
/** What was interrupted works so long that it can be killed again. */
let dies = false;
beforeAll(async () => {
  world = await runWorld();
  program = builtProgram('src/agent/multi-agent-owner.ts', [
    'src/agent/multi-agent-runner.ts',
    'src/agent/profiles',
  ]);
  world.model.callBash('work long', 'sleep 100', 'never');
  world.model.answer('go on with your task', () => (dies ? DIES : { content: 'went on' }));
  world.model.say('short', 'done');
});
afterAll(() => world.stop());

function launch(held: HeldRun): Promise<void> {
  const env = { ...world.env, MULTI_AGENT_JOB: '/another/job' };
  return launchOwner(held, { env, owner: { command: process.execPath, args: [program] } });
}

/** The process that has a directory as its last argument. */
function processOf(name: string, directory: string): number {
  const found = readdirSync('/proc').find((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return words.some((word) => word.includes(name)) && words.includes(directory);
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new Error(`no ${name} of ${directory}`);
  return Number(found);
}

async function killOwner({ directory }: HeldRun): Promise<void> {
  process.kill(processOf('multi-agent-owner', directory), 'SIGKILL');
  await until('a free lock', () => !isHeld(runLock(directory)));
}

async function killRunner(job: string): Promise<void> {
  process.kill(processOf('multi-agent-runner', job), 'SIGKILL');
  await until('a free lock', () => !isHeld(jobFile(job, LOCK_FILE)));
}

function isAtWork(job: string): boolean {
  return fileOf(job, 'status') === 'running' && (fileOf(job, 'progress.log') ?? '').includes('bash');
}

/** With the text of the prompt of its job's latest run. */
function promptOf(job: string): string {
  return fileOf(job, 'prompt.txt') ?? '';
}

describe('an owner in the background (R6)', () => {
  it('R6: takes the lock over, belongs to no job, and sees the run to its end', async () => {
    const held = await world.create([{ id: 'one', prompt: 'work long' }]);
    await launch(held);
    expect(isHeld(runLock(held.directory))).toBe(true);
    await until('its job', () => isAtWork(world.jobOf(held, 'one')));
    const pid = processOf('multi-agent-owner', held.directory);
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    expect(environment.filter((variable) => variable.startsWith('MULTI_AGENT_JOB='))).toEqual([]);
    expect(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /, '').split(' ')[3]).toBe(String(pid));
    const manifest = JSON.parse(readFileSync(join(held.directory, 'manifest.json'), 'utf8'));
    expect(manifest).toMatchObject({ ownerPid: pid, ownerSessionId: null, adopted: false });
    await killOwner(held);
    await endOrphan(await world.take(held.directory), world.deps, 'a test');
  });

  it('R6: that cannot be started leaves the run to whoever takes it', async () => {
    const held = await world.create([{ id: 'one', prompt: 'short' }]);
    const owner = { command: '/nowhere/node', args: [] };
    await expect(launchOwner(held, { env: world.env, owner })).rejects.toThrow(OwnerStartError);
    const state = await ownRun(await world.take(held.directory), world.deps);
    expect(state.status).toBe('succeeded');
  });

  it('R1: a state that cannot be written ends the owner with the failure on its log, and the jobs go on', async () => {
    world.model.callBash('work a second', 'sleep 1', 'worked');
    const held = await world.create([
      { id: 'one', prompt: 'work a second' },
      { id: 'two', prompt: 'short', needs: ['one'] },
    ]);
    await launch(held);
    await until('its job', () => isAtWork(world.jobOf(held, 'one')));
    const artifacts = join(held.directory, 'artifacts');
    rmSync(artifacts, { recursive: true });
    writeFileSync(artifacts, 'in the way');
    await until('the owner’s end', () => !isHeld(runLock(held.directory)));
    expect(readFileSync(ownerLog(held.directory), 'utf8')).toContain('FileError: cannot write');
    expect(statusesOf(stateOf(held.directory))).toEqual({ one: 'running', two: 'pending' });
    expect(fileOf(world.jobOf(held, 'one'), 'status')).toBe('done');
    rmSync(artifacts);
    mkdirSync(artifacts);
    expect((await ownRun(await world.take(held.directory), world.deps)).status).toBe('succeeded');
    expect(outputOf(held, 'one')).toBe('worked');
  });
});

describe('going on with a run whose owner is gone (R7)', () => {
  it('R7: what its jobs still do is followed on, and nothing is done twice', async () => {
    world.model.callBash('work a while', 'sleep 1', 'worked');
    const held = await world.create([
      { id: 'one', prompt: 'work a while' },
      { id: 'two', prompt: 'short', needs: ['one'] },
    ]);
    await launch(held);
    const job = world.jobOf(held, 'one');
    await until('its job', () => isAtWork(job));
    await killOwner(held);
    expect(isHeld(jobFile(job, LOCK_FILE))).toBe(true);
    const state = await ownRun(await world.take(held.directory), world.deps);
    expect(statusesOf(state)).toEqual({ one: 'succeeded', two: 'succeeded' });
    expect(state.steps.one?.attempts).toBe(1);
    expect(fileOf(job, 'runs')).toBe('1');
    const events = await eventsOf(held.directory);
    expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['owner', 'attached']));
  });

  it('R7: one that died goes on with its own conversation', async () => {
    const held = await world.create([{ id: 'one', prompt: 'work long' }]);
    await launch(held);
    const job = world.jobOf(held, 'one');
    await until('its job', () => isAtWork(job));
    await killOwner(held);
    await killRunner(job);
    const state = await ownRun(await world.take(held.directory), world.deps);
    expect(state.steps.one).toMatchObject({ status: 'succeeded', attempts: 2 });
    expect(promptOf(job)).toMatch(/^You were interrupted/);
    expect(JSON.stringify(world.model.requests().at(-1))).toContain('work long');
    expect(outputOf(held, 'one')).toBe('went on');
  });

  it('R7: one that died before it said anything begins from the beginning', async () => {
    const held = await world.create([{ id: 'one', prompt: 'short' }]);
    const orphan = await world.withJob(held, 'one', {});
    const state = await ownRun(orphan, world.deps);
    expect(state.steps.one).toMatchObject({ status: 'succeeded', attempts: 2 });
    expect(promptOf(world.jobOf(held, 'one'))).toBe('short');
  });

  it('R7: one that was killed with its owner, as where a sandbox is stopped, is run again', async () => {
    const held = await world.create([{ id: 'one', prompt: 'short' }]);
    const state = await ownRun(await world.withJob(held, 'one', { killed: true }), world.deps);
    expect(state.steps.one).toMatchObject({ status: 'succeeded', attempts: 2 });
  });

  it('R7: with --retry none one that died has failed', async () => {
    const held = await world.create([{ id: 'one', prompt: 'short' }], { settings: { retry: 'none' } });
    const state = await ownRun(await world.withJob(held, 'one', {}), world.deps);
    expect(state.steps.one).toMatchObject({ status: 'failed', attempts: 1 });
    expect(state.steps.one?.reason).toContain('died');
  });

  // The pi of the first run gets 10 s to end by itself.
  it('R3: under a living owner one that dies is run once more, and not twice', {
    timeout: 150_000,
  }, async () => {
    dies = true;
    onTestFinished(() => {
      dies = false;
    });
    world.model.callBash('die twice', 'sleep 100', 'never');
    const held = await world.create([{ id: 'one', prompt: 'die twice' }]);
    const ended = ownRun(held, world.deps);
    const job = world.jobOf(held, 'one');
    await until('its job', () => isAtWork(job));
    await killRunner(job);
    const goesOn = (): boolean => fileOf(job, 'runs') === '2' && fileOf(job, 'status') === 'running';
    await until('its second run', goesOn, 90_000);
    await killRunner(job);
    const state = await ended;
    expect(state.steps.one).toMatchObject({ status: 'failed', attempts: 2 });
  });

  it('R7: a step whose job was never made begins, as the same attempt', async () => {
    const held = await world.create([{ id: 'one', prompt: 'short' }]);
    const orphan = await world.withJob(held, 'one', {});
    rmSync(world.jobOf(held, 'one'), { recursive: true });
    const state = await ownRun(orphan, world.deps);
    expect(state.steps.one).toMatchObject({ status: 'succeeded', attempts: 1 });
  });

  it('R7: an attempt that was written and not begun is begun, and is no new one', async () => {
    const held = await world.create([{ id: 'one', prompt: 'short' }]);
    const orphan = await world.withJob(held, 'one', {});
    const { one } = orphan.state.steps;
    if (one === undefined) throw new Error('no step');
    const steps = { one: { ...one, attempts: 2 } };
    const state = await ownRun({ ...orphan, state: { ...orphan.state, steps } }, world.deps);
    expect(state.steps.one).toMatchObject({ status: 'succeeded', attempts: 2 });
  });

  it('R7: an end that nobody saw is taken as it is', async () => {
    const held = await world.create([{ id: 'one', prompt: 'never asked' }]);
    const before = world.model.requests().length;
    const state = await ownRun(await world.withJob(held, 'one', { output: 'long ago' }), world.deps);
    expect(state.steps.one).toMatchObject({ status: 'succeeded', attempts: 1 });
    expect(outputOf(held, 'one')).toBe('long ago');
    expect(world.model.requests().length).toBe(before);
  });

  it('R1: what the state says and no event does is told by the next owner', async () => {
    const held = await world.create([{ id: 'one', prompt: 'x' }]);
    await ownRun(await world.withJob(held, 'one', { output: 'y' }), world.deps);
    const events = await eventsOf(held.directory);
    expect(events.flatMap((event) => (event.type === 'step' ? event.status : []))).toEqual([
      'running',
      'succeeded',
    ]);
    expect(events.flatMap((event) => (event.type === 'run' ? event.status : []))).toEqual([
      'queued',
      'running',
      'succeeded',
    ]);
  });

  it('R1: the end of a run that nobody told is told by the next sweep', async () => {
    const held = await world.create([{ id: 'one', prompt: 'x' }]);
    const state = await ownRun(await world.withJob(held, 'one', { output: 'y' }), world.deps);
    const events = join(held.directory, 'events.jsonl');
    const lines = readFileSync(events, 'utf8').trim().split('\n');
    writeFileSync(events, `${lines.slice(0, -2).join('\n')}\n`);
    const identity = { pid: process.pid, host: 'here', uid: process.getuid?.() ?? 0 };
    await sweepRuns(world.place, { clock: systemClock, identity });
    const told = (await eventsOf(held.directory)).slice(-2);
    expect(told).toMatchObject([
      { type: 'step', step: 'one', status: 'succeeded' },
      { type: 'run', status: state.status },
    ]);
  });

  it('R7: a job of others that has a step’s name is left alone', async () => {
    const held = await world.create([{ id: 'one', prompt: 'short' }]);
    const job = await world.hold(world.jobOf(held, 'one').split('/').at(-1) ?? '', 'theirs', {});
    job.lock.release();
    const state = await ownRun(held, world.deps);
    expect(state.steps.one).toMatchObject({ status: 'failed' });
    expect(state.steps.one?.reason).toContain('is taken');
    expect(promptOf(job.directory)).toBe('theirs');
  });
});

describe('what is done to an orphan (R6)', () => {
  it('R6: canceled, its jobs are ended and the run is', async () => {
    const held = await world.create([
      { id: 'one', prompt: 'work long' },
      { id: 'two', prompt: 'short', needs: ['one'] },
    ]);
    await launch(held);
    const job = world.jobOf(held, 'one');
    await until('its job', () => isAtWork(job));
    await killOwner(held);
    const state = await endOrphan(await world.take(held.directory), world.deps, 'canceled by a test');
    expect(state).toMatchObject({ status: 'canceled', reason: 'canceled by a test' });
    expect(statusesOf(state)).toEqual({ one: 'canceled', two: 'canceled' });
    expect([fileOf(job, 'status'), isHeld(jobFile(job, LOCK_FILE))]).toEqual(['aborted', false]);
  });

  it('R6: a text for a step is kept for whoever goes on', async () => {
    world.model.say('mind the docs', 'minded');
    const held = await world.create([{ id: 'one', prompt: 'write' }]);
    const message = { step: 'one', text: 'mind the docs', from: 'a test' };
    expect(await sendToStep(held, message, { clock: systemClock })).toBe('kept');
    held.lock.release();
    const state = await ownRun(await world.take(held.directory), world.deps);
    expect(state.steps.one).toMatchObject({ status: 'succeeded', messages: 1 });
    expect(promptOf(world.jobOf(held, 'one'))).toContain('mind the docs');
  });

  it('R3: a text that was kept for a step that then ends is said to be unread', async () => {
    const held = await world.withJob(await world.create([{ id: 'one', prompt: 'write' }]), 'one', {
      output: 'written\n',
    });
    const message = { step: 'one', text: 'mind the docs', from: 'a test' };
    expect(await sendToStep(held, message, { clock: systemClock })).toBe('kept');
    held.lock.release();
    const state = await ownRun(await world.take(held.directory), world.deps);
    expect(statusesOf(state)).toEqual({ one: 'succeeded' });
    const problems = (await eventsOf(held.directory)).filter(({ type }) => type === 'problem');
    expect(problems).toMatchObject([{ text: 'step "one" has ended, and 1 of its messages was not put in' }]);
  });

  it('R9: what has ended stays as it is, whoever takes it', async () => {
    const held = await world.create([{ id: 'one', prompt: 'short' }]);
    const before = await ownRun(held, world.deps);
    const again = await endOrphan(await world.take(held.directory), world.deps, 'too late');
    expect(again).toEqual(before);
    await untilState(held.directory, 'the same', ({ status }) => status === 'succeeded');
  });
});
