import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PiEvent } from '../../../../src/pi/index.ts';
import { parsePiEvent } from '../../../../src/pi/rpc/events.ts';
import { followTurn } from '../../../../src/pi/rpc/turn.ts';

const said = (stopReason: string, text = 'hi'): object => ({
  type: 'message_end',
  message: { role: 'assistant', content: [{ type: 'text', text }], stopReason },
});
const EVENTS = [
  { type: 'agent_start' },
  { type: 'agent_end', willRetry: false },
  { type: 'agent_end', willRetry: true },
  { type: 'agent_settled', aborted: false },
  { type: 'compaction_start', reason: 'overflow' },
  { type: 'compaction_end', willRetry: false },
  { type: 'compaction_end', willRetry: true },
  { type: 'auto_retry_start', attempt: 1 },
  { type: 'auto_retry_end', success: false },
  { type: 'message_end', message: { role: 'user', content: 'hi' } },
  said('stop'),
  said('error'),
  said('toolUse'),
];

function event(value: object): PiEvent {
  const parsed = parsePiEvent(value);
  if (!parsed || parsed.type === 'unknown') throw new Error(`not an event: ${JSON.stringify(value)}`);
  return parsed;
}

/** The outcome after these events, as far as they say. */
function outcomeOf(...values: object[]) {
  const turn = followTurn();
  turn.started();
  const steps = values.map((value) => turn.see(event(value)));
  return { last: steps.at(-1), ...turn.outcome() };
}

const start = { type: 'agent_start' };
const end = { type: 'agent_end', willRetry: false };
const settled = { type: 'agent_settled', aborted: false };

describe('followTurn', () => {
  it('J4: in any order of events, a turn ends only at agent_settled, outside of a run, with an answer', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...EVENTS), { maxLength: 30 }), (values) => {
        const turn = followTurn();
        turn.started();
        let running = false;
        let answered = false;
        for (const value of values) {
          const one = event(value);
          if (one.type === 'agent_start') running = true;
          if (one.type === 'agent_end') running = false;
          if (one.type === 'message_end' && one.message.role === 'assistant') answered = true;
          const step = turn.see(one);
          if (step !== 'going') expect(one.type).toBe('agent_settled');
          if (step !== 'going') expect(running).toBe(false);
          if (step === 'ended') expect(answered).toBe(true);
        }
      }),
      { numRuns: 500, seed: 11 },
    );
  });

  it.each([
    ['stop', { kind: 'done' }],
    ['toolUse', { kind: 'done' }],
    ['length', { kind: 'failed', cause: 'length' }],
    ['error', { kind: 'failed', cause: 'provider' }],
    ['aborted', { kind: 'aborted' }],
    ['deferred', { kind: 'failed', cause: 'unfinished' }],
    ['something-new', { kind: 'failed', cause: 'unfinished' }],
  ])('J4: a last message that ended as %s', (stopReason, outcome) => {
    expect(outcomeOf(start, said(stopReason), end, settled)).toMatchObject({ last: 'ended', ...outcome });
  });

  it('J4: an abort counts also when no message came', () => {
    const aborted = { type: 'agent_settled', aborted: true };
    expect(outcomeOf(start, end, aborted)).toMatchObject({ last: 'ended', kind: 'aborted', text: '' });
  });

  it('J4: while pi has announced another try, settled is doubted', () => {
    const again = { type: 'agent_end', willRetry: true };
    expect(outcomeOf(start, said('error'), again, settled)).toMatchObject({ last: 'unsure' });
  });

  it('J6: what was queued and never delivered is told', () => {
    const queue = { type: 'queue_update', steering: ['left'], followUp: ['later'] };
    const { unsent } = outcomeOf(start, queue, said('stop'), end, settled);
    expect(unsent).toEqual({ steering: ['left'], followUp: ['later'] });
  });

  it('J4: a message whose text cannot be read is not taken for an empty one', () => {
    const message = { role: 'assistant', content: [{ text: 'no type' }], stopReason: 'stop' };
    expect(parsePiEvent({ type: 'message_end', message })).toMatchObject({ type: 'unknown' });
  });
});
