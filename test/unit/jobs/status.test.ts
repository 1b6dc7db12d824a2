import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { advance, BEGUN, EXIT_CODES, isLive, type RunEvent, type RunState } from '../../../src/jobs/index.ts';

const plain = fc.constantFrom<RunEvent>(
  { type: 'prompted' },
  { type: 'asked' },
  { type: 'answered' },
  { type: 'abort-wanted' },
  { type: 'kill-wanted' },
  { type: 'time-over' },
  { type: 'given-up', reason: 'budget' },
  { type: 'gone', reason: 'pi has ended with exit code 1' },
);
const settled = fc
  .constantFrom<'done' | 'failed' | 'aborted'>('done', 'failed', 'aborted')
  .map((outcome): RunEvent => ({ type: 'settled', outcome, reason: outcome }));
const anyEvents = fc.array(fc.oneof(plain, settled), { maxLength: 30 });

function states(events: readonly RunEvent[]): RunState[] {
  const all = [BEGUN];
  for (const event of events) all.push(advance(all.at(-1) ?? BEGUN, event));
  return all;
}

function after(...events: RunEvent[]): RunState | undefined {
  return states(events).at(-1);
}

describe('the life of a run (J3)', () => {
  it('J3: never has two ends, and never turns from an end to anything, in whatever order events come', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const all = states(events);
        const first = all.findIndex((state) => !state.live);
        if (first === -1) return all.every(({ status }) => isLive(status));
        return all.slice(first).every((state) => state === all[first]);
      }),
    );
  });

  it('J3: ends only when pi has settled or is gone', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const ended = states(events).some((state) => !state.live);
        return ended === events.some(({ type }) => type === 'settled' || type === 'gone');
      }),
    );
  });

  it('J3: a kill that was wanted while it ran is never told as done', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const end = events.findIndex(({ type }) => type === 'settled' || type === 'gone');
        const wanted = events.slice(0, end).some(({ type }) => type === 'kill-wanted');
        return end === -1 || !wanted || after(...events)?.status !== 'done';
      }),
    );
  });

  it('J3: every final status has its exit code, and no two share one', () => {
    const { done, failed, 'timed-out': timedOut, aborted, killed } = EXIT_CODES;
    expect([done, failed, timedOut, aborted, killed]).toEqual([0, 1, 124, 130, 137]);
  });

  it('J6: a turn that was done before the abort reached it is done', () => {
    expect(after({ type: 'abort-wanted' }, { type: 'settled', outcome: 'done', reason: '' })).toMatchObject({
      status: 'done',
    });
  });

  it('J10: what the clock ended is timed out, whether pi settled or had to be killed', () => {
    const settledEnd: RunEvent = { type: 'settled', outcome: 'aborted', reason: '' };
    const gone: RunEvent = { type: 'gone', reason: 'signal SIGKILL' };
    for (const end of [settledEnd, gone]) {
      expect(
        after({ type: 'abort-wanted' }, { type: 'time-over' }, { type: 'kill-wanted' }, end),
      ).toMatchObject({
        status: 'timed-out',
        reason: expect.stringContaining('half done'),
      });
    }
  });

  it('J16: a budget that is used up is a failure, and says so', () => {
    expect(
      after({ type: 'given-up', reason: 'budget' }, { type: 'settled', outcome: 'aborted', reason: '' }),
    ).toMatchObject({ status: 'failed', reason: 'budget' });
  });

  it('J4: a pi that is gone without a wish of anybody’s is a failure with its reason', () => {
    expect(after({ type: 'prompted' }, { type: 'gone', reason: 'exit code 1' })).toMatchObject({
      status: 'failed',
      reason: 'exit code 1',
    });
  });
});
