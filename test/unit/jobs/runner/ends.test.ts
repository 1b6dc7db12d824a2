import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type HeldJob, runJob } from '../../../../src/jobs/index.ts';
import { ask, watchUntil } from '../../../setup/job-socket.ts';
import { fileOf, type JobWorld, jobWorld } from '../../../setup/job-world.ts';

let world: JobWorld;
beforeAll(async () => {
  world = await jobWorld();
});
afterAll(() => world.stop());

function ends({ directory }: HeldJob): (string | undefined)[] {
  return (['status', 'exit_code', 'reason'] as const).map((name) => fileOf(directory, name));
}

/** A job whose pi is busy with a tool. */
async function busy(name: string, record: Parameters<JobWorld['hold']>[2] = {}) {
  world.model.callBash(`${name} now`, 'sleep 100', 'awake');
  const held = await world.hold(name, `${name} now`, record);
  const running = runJob(held, world.options);
  await watchUntil(held, (text) => text.startsWith('tool bash'));
  return { held, running };
}

describe('how a run ends (J3, J6, J10)', () => {
  it('J6: an abort stops the turn, and whoever asked hears of the end when it is committed', async () => {
    const { held, running } = await busy('abort');
    expect(await ask(held, { version: 1, op: 'abort' })).toEqual({ ok: true, status: 'aborted' });
    expect(ends(held)).toEqual(['aborted', '130', 'it was aborted']);
    expect(await running).toEqual({ status: 'aborted', reason: 'it was aborted' });
  });

  it('J6: an aborted job goes on in its conversation with the next run', async () => {
    const { held, running } = await busy('again');
    await ask(held, { version: 1, op: 'abort' });
    await running;
    world.model.say('what was it', 'a long sleep');
    const next = await world.holdAgain(held, 'what was it');
    expect(await runJob(next, world.options)).toMatchObject({ status: 'done' });
    expect(readFileSync(held.record.session, 'utf8')).toMatch(/again now.*what was it/s);
  });

  it('J6: a kill ends pi in the middle of a tool', async () => {
    const { held, running } = await busy('kill');
    expect(await ask(held, { version: 1, op: 'kill' })).toEqual({ ok: true, status: 'killed' });
    expect(ends(held)).toEqual(['killed', '137', 'it was killed']);
    await running;
  });

  it('J10: a run whose time is over is aborted, and says that work may be half done', async () => {
    const { held, running } = await busy('slow', { timeoutSeconds: 2 });
    expect(await running).toMatchObject({ status: 'timed-out' });
    expect(ends(held)).toEqual(['timed-out', '124', expect.stringContaining('half done')]);
  });

  it('J6: an abort of a run that has not begun ends it', async () => {
    const held = await world.hold('early', 'never asked');
    const abort = new AbortController();
    const running = runJob(held, { ...world.options, signal: abort.signal });
    abort.abort();
    expect(await running).toEqual({ status: 'aborted', reason: 'it was aborted' });
  });

  it('J4: an error of the provider is a failure with its words', async () => {
    world.model.fail('break', 500, 'the model is on fire');
    const held = await world.hold('provider', 'break please');
    await runJob(held, world.options);
    expect(ends(held)).toEqual(['failed', '1', expect.stringMatching(/^provider: .*on fire/)]);
    expect(fileOf(held.directory, 'progress.log')).toMatch(/ error .*on fire/);
  });

  it('J4: an answer that was cut is a failure, and what there is of it is kept', async () => {
    world.model.answer('endless', () => ({ content: 'to be contin', finishReason: 'length' }));
    const held = await world.hold('length', 'an endless story');
    await runJob(held, world.options);
    expect(ends(held)).toEqual(['failed', '1', expect.stringMatching(/^length: /)]);
    expect(fileOf(held.directory, 'output.txt')).toBe('to be contin');
  });

  it('J4: an answer without text is done, with an empty output', async () => {
    world.model.answer('nothing', () => ({ content: '' }));
    const held = await world.hold('empty', 'say nothing');
    await runJob(held, world.options);
    expect(ends(held)).toEqual(['done', '0', 'done']);
    expect(fileOf(held.directory, 'output.txt')).toBe('');
  });

  it('J4: a pi that cannot be started is a failure', async () => {
    const held = await world.hold('no-pi', 'x');
    await runJob(held, { ...world.options, piCommand: { command: '/nowhere/pi', args: [] } });
    expect(ends(held)).toEqual(['failed', '1', expect.stringMatching(/^not-started: \/nowhere\/pi/)]);
  });

  it('J4: a pi that refuses its arguments is a failure with its last words', async () => {
    const held = await world.hold('bad-flag', 'x', { piArgs: ['--no-such-option'] });
    await runJob(held, world.options);
    expect(ends(held)).toEqual(['failed', '1', expect.stringMatching(/^pi-ended: pi ended \(exit code 1\)/)]);
    expect(fileOf(held.directory, 'stderr.txt')).toContain('no-such-option');
  });

  it('J11: a project directory that vanished is a failure that names it', async () => {
    const held = await world.hold('gone', 'x', { realCwd: '/nowhere/at/all' });
    await runJob(held, world.options);
    expect(ends(held)).toEqual(['failed', '1', expect.stringContaining('/nowhere/at/all')]);
  });

  it('J11: pi killed from outside is a failure', async () => {
    const { held, running } = await busy('shot');
    const pi = Number(readFileSync(`/proc/thread-self/children`, 'utf8').trim().split(' ').at(-1));
    process.kill(pi, 'SIGKILL');
    expect(await running).toMatchObject({ status: 'failed', reason: expect.stringContaining('SIGKILL') });
    expect(ends(held)).toEqual(['failed', '1', expect.stringContaining('SIGKILL')]);
  });
});

describe('what a run tells (J2, J6)', () => {
  it('J6: a line for each tool and text in progress.log, whatever they hold', async () => {
    world.model.callBash('list', 'printf "a\\nb"', 'one\u2028two\nthree \u001b[31mred');
    const held = await world.hold('list', 'list it');
    await runJob(held, world.options);
    const lines = fileOf(held.directory, 'progress.log')?.split('\n') ?? [];
    expect(lines.map((line) => line.replace(/^\S+ /, ''))).toEqual([
      'run 1 begins: list it',
      'tool bash: printf "a\\nb"',
      'text one two three \ufffdred',
      'run ends: done',
    ]);
    expect(fileOf(held.directory, 'output.txt')).toBe('one\u2028two\nthree \u001b[31mred');
  });

  it('J2: usage of all runs, and the log of all runs', async () => {
    world.model.say('count', 'counted');
    const held = await world.hold('count', 'count 1');
    await runJob(held, world.options);
    const first = JSON.parse(fileOf(held.directory, 'usage.json') ?? '{}');
    expect(first.tokens.total).toBeGreaterThan(0);
    await runJob(await world.holdAgain(held, 'count 2'), world.options);
    const second = JSON.parse(fileOf(held.directory, 'usage.json') ?? '{}');
    expect(second.tokens.total).toBeGreaterThan(first.tokens.total);
    expect(fileOf(held.directory, 'progress.log')).toMatch(/run 1 begins.*run 2 begins/s);
  });

  it('J8: pi and its tools learn which job they are', async () => {
    const names = 'MULTI_AGENT_JOB MULTI_AGENT_DEPTH PI_MINIMAL_PERMISSION_SYSTEM_NONINTERACTIVE PWD EXTRA';
    world.model.callBash('who', `for name in ${names}; do printenv $name; done > told`, 'told');
    const held = await world.hold('who', 'who are you', { depth: 1 });
    await runJob(held, { ...world.options, env: { ...world.env, EXTRA: 'kept', MULTI_AGENT_JOB: '/other' } });
    const told = readFileSync(`${world.project}/told`, 'utf8').trim().split('\n');
    expect(told).toEqual([held.directory, '1', '1', world.project, 'kept']);
  });
});
