import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type HeldJob, type RunOptions, runJob } from '../../../../src/jobs/index.ts';
import { scriptedPi } from '../../../setup/fake-pi.ts';
import { ask, watchUntil } from '../../../setup/job-socket.ts';
import { fileOf, type JobWorld, jobWorld } from '../../../setup/job-world.ts';

let world: JobWorld;
beforeAll(async () => {
  world = await jobWorld();
});
afterAll(() => world.stop());

/** A job whose pi is this script. */
async function run(name: string, script: string, more: Partial<RunOptions> = {}) {
  const held = await world.hold(name, 'do something');
  const piCommand = { command: process.execPath, args: scriptedPi(script) };
  return { held, running: runJob(held, { ...world.options, piCommand, ...more }) };
}

const RUNNING = `on({ prompt: (request) => {
  answer(request, { disposition: 'started' });
  say({ type: 'agent_start' });
}, abort: () => {} });`;

const isRunning = (text: string): boolean => text === 'status running';

function log({ directory }: HeldJob): string {
  return fileOf(directory, 'progress.log') ?? '';
}

describe('a pi that does not do what it is told (J4, J6, J10)', () => {
  it('J6: that does not answer an abort is ended, and the job is aborted', async () => {
    const { held, running } = await run('deaf', RUNNING, { limits: { abortMs: 300 } });
    await watchUntil(held, isRunning);
    expect(await ask(held, { version: 1, op: 'abort' })).toEqual({ ok: true, status: 'aborted' });
    await running;
  });

  it('J10: that goes on after its time is ended, and the job is timed out', async () => {
    const held = await world.hold('late', 'x', { timeoutSeconds: 1 });
    const piCommand = { command: process.execPath, args: scriptedPi(RUNNING) };
    const end = await runJob(held, { ...world.options, piCommand, limits: { abortMs: 300 } });
    expect(end).toMatchObject({ status: 'timed-out' });
  });

  it('J4: that ignores SIGTERM is killed', async () => {
    const { held, running } = await run('stubborn', `process.on('SIGTERM', () => {}); ${RUNNING}`, {
      limits: { graceMs: 300 },
    });
    await watchUntil(held, isRunning);
    expect(await ask(held, { version: 1, op: 'kill' })).toEqual({ ok: true, status: 'killed' });
    await running;
  });

  it('J4: that ends in the middle is a failure with its code and its last words', async () => {
    const { held, running } = await run(
      'short',
      `on({ prompt: (request) => {
        answer(request, { disposition: 'started' });
        say({ type: 'agent_start' });
        process.stderr.write('before\\nout of memory\\n', () => process.exit(7));
      } });`,
    );
    const reason = 'pi-ended: pi ended (exit code 7): out of memory';
    expect(await running).toEqual({ status: 'failed', reason });
    expect(fileOf(held.directory, 'stderr.txt')).toBe('before\nout of memory');
  });

  it('J4: that writes what is no protocol costs those lines only', async () => {
    const { held, running } = await run(
      'babble',
      `on({ prompt: (request) => {
        answer(request, { disposition: 'started' });
        process.stdout.write('Hello!\\n{"type":\\n');
        settle('all is well');
      } });`,
    );
    expect(await running).toMatchObject({ status: 'done' });
    expect(fileOf(held.directory, 'output.txt')).toBe('all is well');
    expect(log(held)).toMatch(/ error .*not its protocol/);
  });

  it('J4: that writes to standard error without end leaves its last words', async () => {
    const { held, running } = await run(
      'loud',
      `on({ prompt: (request) => {
        answer(request, { disposition: 'started' });
        process.stderr.write('x'.repeat(300000) + 'the end', () => settle('done'));
      } });`,
    );
    await running;
    const told = fileOf(held.directory, 'stderr.txt') ?? '';
    expect(told.length).toBeLessThan(70_000);
    expect(told).toMatch(/^\[\d+ bytes before are gone\]\n.*the end$/s);
  });

  it('J6: a long run leaves a bounded log with its latest lines', async () => {
    const { held, running } = await run(
      'chatty',
      `on({ prompt: (request) => {
        answer(request, { disposition: 'started' });
        const args = { command: 'x'.repeat(5000) };
        for (let n = 0; n < 12000; n++) say({ type: 'tool_execution_start', toolCallId: 't' + n, toolName: 'tool' + n, args });
        settle('done');
      } });`,
    );
    expect(await running).toMatchObject({ status: 'done' });
    const lines = log(held).split('\n');
    expect(log(held).length).toBeLessThan(4.2 * 1_024 * 1_024);
    expect(lines.at(-1)).toMatch(/ run ends: done$/);
    expect(lines.every((line) => /^\d{4}-\S+Z [a-z]+ /.test(line))).toBe(true);
    expect(lines.some((line) => line.includes('tool11999: xxx'))).toBe(true);
  });
});
