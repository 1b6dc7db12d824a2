import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askJob } from '../../../../src/jobs/index.ts';
import type { RunAnswer } from '../../../../src/runs/index.ts';
import {
  type AskedRun,
  askRun,
  endOrphan,
  type HeldRun,
  LIMITS,
  ownRun,
  watchRun,
} from '../../../../src/runs/index.ts';
import { fileOf } from '../../../setup/job-world.ts';
import { until } from '../../../setup/pi.ts';
import {
  eventsOf,
  type RunWorld,
  runWorld,
  stateOf,
  statusesOf,
  untilState,
} from '../../../setup/run-world.ts';

let world: RunWorld;
beforeAll(async () => {
  world = await runWorld();
  world.model.callBash('long', 'sleep 100', 'x');
  world.model.say('short', 'done');
});
afterAll(() => world.stop());

const OWNER = { type: 'owner', session: null, pid: 1, container: 'there', before: null };
const OPERATOR = { session: null, operator: true, force: false };

function ask(held: HeldRun, request: AskedRun): Promise<RunAnswer> {
  return askRun(world.place, held.directory, request);
}

function isRunning(held: HeldRun, step: string): boolean {
  return fileOf(world.jobOf(held, step), 'status') === 'running';
}

describe('ending a run (R3, R6)', () => {
  it('R3: canceled, what runs is ended and what waits never begins', async () => {
    const held = await world.create([
      { id: 'now', prompt: 'long' },
      { id: 'later', prompt: 'short', needs: ['now'] },
    ]);
    const ended = ownRun(held, world.deps);
    await until('a running step', () => isRunning(held, 'now'));
    expect(await ask(held, { op: 'cancel', caller: OPERATOR })).toEqual({ ok: true });
    expect(stateOf(held.directory).status).toBe('canceling');
    const state = await ended;
    expect(state).toMatchObject({ status: 'canceled', reason: 'canceled by the operator' });
    expect(statusesOf(state)).toEqual({ now: 'canceled', later: 'canceled' });
    expect(fileOf(world.jobOf(held, 'now'), 'status')).toBe('aborted');
    await expect(ask(held, { op: 'cancel', caller: OPERATOR })).rejects.toThrow('has ended');
  });

  it('R3: one step canceled leaves the others alone', async () => {
    const held = await world.create([
      { id: 'one', prompt: 'long' },
      { id: 'other', prompt: 'short' },
    ]);
    const ended = ownRun(held, world.deps);
    await until('a running step', () => isRunning(held, 'one'));
    expect(await ask(held, { op: 'cancel', caller: OPERATOR, step: 'one' })).toEqual({ ok: true });
    const state = await ended;
    expect([state.status, statusesOf(state)]).toEqual(['mixed', { one: 'canceled', other: 'succeeded' }]);
  });

  it('R3: a job that others abort has failed', async () => {
    const held = await world.create([{ id: 'one', prompt: 'long' }]);
    const ended = ownRun(held, world.deps);
    await until('a running step', () => isRunning(held, 'one'));
    await askJob(world.place.jobs, world.jobOf(held, 'one'), { op: 'abort' });
    expect(statusesOf(await ended)).toEqual({ one: 'failed' });
  });

  it('R3: the time of the run ends what runs, and no step begins any more', async () => {
    const held = await world.create(
      [
        { id: 'now', prompt: 'long' },
        { id: 'later', prompt: 'short', needs: ['now'] },
      ],
      { settings: { timeoutSeconds: 2 } },
    );
    const state = await ownRun(held, world.deps);
    expect(state.status).toBe('failed');
    expect(state.reason).toBe('timeout: its 2 s were over, with 2 steps open');
    expect(statusesOf(state)).toEqual({ now: 'canceled', later: 'canceled' });
  });

  it('R7: the time that nobody ran it does not count, however often it was taken up', async () => {
    const held = await world.create([{ id: 'one', prompt: 'short' }]);
    const events = [
      ['2026-01-01T00:00:00.000Z', { type: 'run', status: 'queued', reason: null }],
      ['2026-01-01T00:00:01.000Z', { type: 'run', status: 'running', reason: null }],
      ['2026-01-03T00:00:00.000Z', OWNER],
      ['2026-01-03T00:00:02.000Z', { type: 'budget', text: 'something' }],
    ].map(([at, event], index) => JSON.stringify({ version: 1, seq: index + 1, at, ...Object(event) }));
    writeFileSync(join(held.directory, 'events.jsonl'), `${events.join('\n')}\n`);
    const manifest = { ...held.manifest, createdAt: '2026-01-01T00:00:00.000Z' };
    const state = { ...held.state, status: 'running' as const, updatedAt: '2026-01-03T00:00:02.000Z' };
    expect(await ownRun({ ...held, manifest, state }, world.deps)).toMatchObject({
      status: 'succeeded',
      reason: null,
    });
  });

  it('R6: only its owner’s Session may change it, and the refusal names that one', async () => {
    const held = await world.create([{ id: 'one', prompt: 'long' }], { session: 'abc' });
    const ended = ownRun(held, world.deps);
    await untilState(held.directory, 'a run', ({ status }) => status === 'running');
    for (const caller of [
      { session: 'other', operator: false, force: true },
      { session: null, operator: false, force: true },
      OPERATOR,
    ]) {
      const answer = await ask(held, { op: 'cancel', caller });
      expect(answer).toMatchObject({ ok: false, error: { code: 'owned-by-other' } });
      if (!answer.ok) expect(answer.error.message).toContain('session abc');
    }
    const caller = { session: 'abc', operator: false, force: false };
    expect(await ask(held, { op: 'cancel', caller })).toEqual({ ok: true });
    expect((await ended).reason).toBe('canceled by session abc');
  });

  it('R1: who asks for what cannot be written is told so', async () => {
    const held = await world.create([{ id: 'one', prompt: 'long' }]);
    const ended = ownRun(held, world.deps);
    const broken = expect(ended).rejects.toThrow('cannot write');
    await until('a running step', () => isRunning(held, 'one'));
    const status = join(held.directory, 'status.json');
    renameSync(status, `${status}.away`);
    mkdirSync(status);
    const answer = await ask(held, { op: 'cancel', caller: OPERATOR });
    expect(answer).toMatchObject({ ok: false, error: { code: 'failed' } });
    await broken;
    rmSync(status, { recursive: true });
    renameSync(`${status}.away`, status);
    expect(isRunning(held, 'one')).toBe(true);
    await endOrphan(await world.take(held.directory), world.deps, 'a test');
  });

  it('R6: a run goes on where its owner cannot listen, and says so', async () => {
    const held = await world.create([{ id: 'one', prompt: 'short' }]);
    const place = { ...held.place, root: join(held.directory, 'manifest.json') };
    const state = await ownRun({ ...held, place }, world.deps);
    expect(state.status).toBe('succeeded');
    const problems = (await eventsOf(held.directory)).flatMap((event) =>
      event.type === 'problem' ? event.text : [],
    );
    expect(problems).toEqual([expect.stringContaining('manifest.json')]);
  });

  it('R8: who watches hears of every change until the end', async () => {
    const held = await world.create([{ id: 'one', prompt: 'short' }]);
    const seen: number[] = [];
    const ended = ownRun(held, world.deps);
    await untilState(held.directory, 'a run', ({ status }) => status !== 'queued');
    const isConnected = await watchRun(
      world.place,
      held.directory,
      ({ seq }) => seen.push(seq),
      new AbortController().signal,
    );
    expect(isConnected).toBe(true);
    await ended;
    expect(seen.at(-1)).toBe((await eventsOf(held.directory)).length);
  });
});

describe('messages to steps (R3)', () => {
  it('R3: one that runs gets it in its turn', async () => {
    world.model.callBash('listen', 'sleep 1', 'heard');
    world.model.say('leave the old API', 'left');
    const held = await world.create([{ id: 'one', prompt: 'listen' }]);
    const ended = ownRun(held, world.deps);
    await until('a running step', () => isRunning(held, 'one'));
    const answer = await ask(held, {
      op: 'message',
      caller: OPERATOR,
      step: 'one',
      text: 'leave the old API',
    });
    expect(answer).toMatchObject({ ok: true });
    await ended;
    expect(JSON.stringify(world.model.requests().at(-1))).toContain('leave the old API');
    expect(stateOf(held.directory).steps.one?.messages).toBe(1);
  });

  it('R3: one that waits is told when it begins', async () => {
    world.model.callBash('first', 'sleep 0.5', 'x');
    world.model.say('and mind the gap', 'minded');
    const held = await world.create([
      { id: 'one', prompt: 'first' },
      { id: 'two', prompt: 'second', needs: ['one'] },
    ]);
    const ended = ownRun(held, world.deps);
    await untilState(held.directory, 'a run', ({ status }) => status === 'running');
    const answer = await ask(held, {
      op: 'message',
      caller: OPERATOR,
      step: 'two',
      text: 'and mind the gap',
    });
    expect(answer).toEqual({ ok: true, receipt: 'kept' });
    await ended;
    expect(fileOf(world.jobOf(held, 'two'), 'prompt.txt')).toMatch(/^second\n\n.*and mind the gap$/s);
  });

  it('J8: one whose job waits for a slot is told when it has one', async () => {
    world.model.callBash('hold the slot', 'sleep 1.5', 'held');
    world.model.callBash('wait for it', 'sleep 1', 'waited');
    world.model.say('as a late word', 'heard late');
    const env = { ...world.env, MULTI_AGENT_MAX_RUNNING: '1' };
    const held = await world.create([
      { id: 'one', prompt: 'hold the slot' },
      { id: 'two', prompt: 'wait for it' },
    ]);
    const ended = ownRun(held, { ...world.deps, env });
    await until('a running step', () => isRunning(held, 'one') || isRunning(held, 'two'));
    const waiting = isRunning(held, 'one') ? 'two' : 'one';
    await until('the other job', () => fileOf(world.jobOf(held, waiting), 'status') === 'starting');
    const answer = await ask(held, {
      op: 'message',
      caller: OPERATOR,
      step: waiting,
      text: 'as a late word',
    });
    expect(answer).toEqual({ ok: true, receipt: 'kept' });
    expect((await ended).status).toBe('succeeded');
    const receipts = (await eventsOf(held.directory)).flatMap((event) =>
      event.type === 'message' ? event.receipt : [],
    );
    expect(receipts).toEqual(['kept', 'delivered-late']);
  });

  it('R3: more, longer ones, and those for steps that have ended are refused', async () => {
    const held = await world.create([
      { id: 'one', prompt: 'short' },
      { id: 'slow', prompt: 'long' },
      { id: 'two', prompt: 'short', needs: ['slow'] },
    ]);
    const ended = ownRun(held, world.deps);
    await untilState(held.directory, 'its end', ({ steps }) => steps.one?.status === 'succeeded');
    const say = async (step: string, text: string): Promise<string> => {
      const answer = await ask(held, { op: 'message', caller: OPERATOR, step, text });
      return answer.ok ? (answer.receipt ?? '') : answer.error.code;
    };
    expect(await say('one', 'x')).toBe('step-is-final');
    expect(await say('nobody', 'x')).toBe('not-found');
    expect(await say('two', 'x'.repeat(LIMITS.messageBytes + 1))).toBe('limit');
    const receipts = await Promise.all(Array.from({ length: LIMITS.messages }, (_, n) => say('two', `${n}`)));
    expect(new Set(receipts)).toEqual(new Set(['kept']));
    expect(await say('two', 'one more')).toBe('limit');
    await ask(held, { op: 'cancel', caller: OPERATOR });
    await ended;
  });
});
