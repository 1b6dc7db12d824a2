import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { isHeld } from '../../../../src/lib/kernel-lock.ts';
import { isRunId, readState, runDirectory, runsPlace } from '../../../../src/runs/index.ts';
import { type CommandScene, commandScene } from '../../jobs/command/scene.ts';

const GRAPH = 'objective: say it\nsteps:\n  - id: one\n    prompt: say hello\n';

async function scene(): Promise<CommandScene> {
  const made = await commandScene();
  writeFileSync(join(made.project, 'graph.yaml'), GRAPH);
  return made;
}

/** Whether a process watches the schedules of the only project. */
function isWatched({ env }: CommandScene): boolean {
  const directory = join(env.XDG_RUNTIME_DIR ?? '', 'pi-sandbox');
  return readdirSync(directory).some((name) => isHeld(join(directory, name)));
}

describe('multi-agent runs schedule (R10)', { timeout: 120_000 }, () => {
  it('R10: add, list, next and rm; what watches ends with the last schedule', async () => {
    const made = await scene();
    const { call, json, project } = made;
    const words = ['runs', 'schedule'];
    const added = await call(
      ...words,
      ...['add', '30 7 * * mon-fri', '--tz', 'Europe/Berlin', '--name', 'hello', '--max-cost', '2'],
      ...['--', 'graph.yaml'],
    );
    expect(added).toMatchObject({ code: 0, stderr: '' });
    expect(added.stdout).toMatch(/^schedule: hello\nnext: \d{4}-\d\d-\d\dT07:30:00\+0[12]:00\n$/);
    expect(await json(...words, 'list')).toMatchObject({
      ok: true,
      schedules: [
        { scheduleId: 'hello', objective: 'say it', steps: 1, project, last: null, catchUp: 'none' },
      ],
    });
    expect((await call(...words, 'list')).stdout).toMatch(
      /^SCHEDULE +CRON +ZONE +NEXT +LAST +OBJECTIVE\nhello +30 7 \* \* mon-fri +Europe\/Berlin +\S+ +- +say it\n$/,
    );
    expect((await call(...words, 'next', 'hello', '-n', '3')).stdout.split('\n')).toHaveLength(4);
    await vi.waitFor(() => expect(isWatched(made)).toBe(true), { timeout: 10_000, interval: 100 });
    expect(await call(...words, 'rm', 'hello')).toMatchObject({ code: 0, stdout: 'removed: hello\n' });
    await vi.waitFor(() => expect(isWatched(made)).toBe(false), { timeout: 10_000, interval: 100 });
    expect(await json(...words, 'rm', 'hello')).toMatchObject({ ok: false, error: { code: 'not-found' } });
  });

  it.each([
    [['add', '99 * * * *', '--tz', 'UTC'], 'is no cron expression'],
    [['add', '0 0 30 2 *', '--tz', 'UTC'], 'is no cron expression'],
    [['add', '@daily', '--tz', 'Mars/Olympus'], '"Mars/Olympus" is no time zone'],
    [['add', '@daily'], "required option '--tz <zone>' not specified"],
    [['add', '@daily', '--tz', 'UTC', '--name', '../x'], 'is no name of a schedule'],
    [['next', '* * *'], 'it has 3 fields instead of 5'],
  ])('R10: schedule %s is refused in one line, with exit code 2', async (words, line) => {
    const { callWith } = await scene();
    const refused = await callWith({ input: GRAPH }, 'runs', 'schedule', ...words);
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(line) });
    expect(refused.stderr).not.toMatch(/^\s+at /m);
  });

  it('R10: an expression says when it would be due, where clocks change too', async () => {
    const { call } = await scene();
    const { stdout } = await call(
      'runs',
      'schedule',
      'next',
      '0 12 * * *',
      '--tz',
      'Australia/Lord_Howe',
      '-n',
      '1',
    );
    expect(stdout).toMatch(/^\d{4}-\d\d-\d\dT12:00:00\+1(?:1:00|0:30)\n$/);
  });

  it('R10: within a minute of the real clock a run is started, and ends as any other', async () => {
    const made = await scene();
    const { call, json, env, top, model } = made;
    model.say('say hello', 'Hello.');
    await call('runs', 'schedule', 'add', '* * * * *', '--tz', 'UTC', '--name', 'often', '--', 'graph.yaml');
    const place = runsPlace(env, top);
    const state = await vi.waitFor(
      async () => {
        const [run] = readdirSync(place.root).filter(isRunId);
        const facts = run === undefined ? undefined : await readState(runDirectory(place, run));
        expect(facts).toMatchObject({ kind: 'known', value: { terminal: true } });
        return facts;
      },
      { timeout: 100_000, interval: 500 },
    );
    expect(state).toMatchObject({ value: { status: 'succeeded' } });
    expect(await json('runs', 'schedule', 'list')).toMatchObject({
      schedules: [{ last: { what: 'started' }, previousRun: expect.stringMatching(/^\d{8}t/) }],
    });
    await call('runs', 'schedule', 'rm', 'often');
    await vi.waitFor(() => expect(isWatched(made)).toBe(false), { timeout: 10_000, interval: 100 });
  });
});
