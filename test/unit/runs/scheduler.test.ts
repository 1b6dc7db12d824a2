import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  advanceRun,
  checkGraph,
  type Graph,
  isFinalRun,
  isFinalStep,
  type JobEnd,
  newRunState,
  type RunInput,
  type RunState,
  readySteps,
  type StepId,
  stepsToEnd,
} from '../../../src/runs/index.ts';

const NOW = new Date('2026-01-01T00:00:00Z');
const RUN = '20260101t000000-aaaaaa';

function graphOf(steps: readonly { id: string; needs?: string[]; after?: string[] }[]): Graph {
  const checked = checkGraph({ objective: 'x', steps: steps.map((step) => ({ prompt: 'p', ...step })) });
  if ('objections' in checked) throw new Error(checked.objections.join('\n'));
  return checked.graph;
}

const DIAMOND = graphOf([
  { id: 'plan' },
  { id: 'left', needs: ['plan'] },
  { id: 'right', needs: ['plan'] },
  { id: 'join', needs: ['left', 'right'] },
  { id: 'report', after: ['join'] },
]);

/** What an owner does: begins what may begin, and tells of what ended. */
function play(graph: Graph, inputs: readonly RunInput[], state = newRunState(RUN, graph, NOW)): RunState {
  return inputs.reduce((before, input) => advanceRun(before, graph, input, NOW), state);
}

const id = (text: string): StepId => {
  const step = [...DIAMOND.steps].find((one) => one.id === text);
  if (step === undefined) throw new Error(text);
  return step.id;
};
const started = (step: string): RunInput => ({ type: 'step-started', step: id(step), job: `/jobs/${step}` });
const ended = (step: string, status: JobEnd['status'] = 'done'): RunInput => ({
  type: 'step-ended',
  step: id(step),
  end: { status, reason: status === 'done' ? null : `it is ${status}` },
  tokens: 1,
  cost: 0.5,
});
const ran = (step: string, status?: JobEnd['status']): RunInput[] => [started(step), ended(step, status)];
const statuses = ({ steps }: RunState): string[] => Object.values(steps).map(({ status }) => status);
const ready = (state: RunState, concurrency = 6): string[] =>
  readySteps(state, DIAMOND, concurrency).map((step) => step.id);

describe('the order of steps (R3)', () => {
  it('R3: a step begins when what it needs has succeeded and what it is after has ended', () => {
    const begun = play(DIAMOND, [{ type: 'begun' }]);
    expect(ready(begun)).toEqual(['plan']);
    const planned = play(DIAMOND, ran('plan'), begun);
    expect(ready(planned)).toEqual(['left', 'right']);
    expect(ready(play(DIAMOND, [started('left')], planned))).toEqual(['right']);
    const failed = play(DIAMOND, [...ran('left', 'failed'), ...ran('right')], planned);
    expect(statuses(failed)).toEqual(['succeeded', 'failed', 'succeeded', 'blocked', 'pending']);
    expect(ready(failed)).toEqual(['report']);
  });

  it('R3: no more begin than there is room for', () => {
    const planned = play(DIAMOND, [{ type: 'begun' }, ...ran('plan')]);
    expect(ready(planned, 1)).toEqual(['left']);
    expect(ready(play(DIAMOND, [started('left')], planned), 1)).toEqual([]);
  });

  it('R3: nothing begins before the owner has', () => {
    expect(ready(newRunState(RUN, DIAMOND, NOW))).toEqual([]);
  });

  it.each<[string, JobEnd['status'], boolean, string]>([
    ['done', 'done', false, 'succeeded'],
    ['timed out', 'timed-out', false, 'timed-out'],
    ['failed', 'failed', false, 'failed'],
    ['aborted by somebody else', 'aborted', false, 'failed'],
    ['killed by somebody else', 'killed', false, 'failed'],
    ['died', 'died', false, 'failed'],
    ['aborted as it was asked for', 'aborted', true, 'canceled'],
    ['killed as it was asked for', 'killed', true, 'canceled'],
    ['done before a cancel reached it', 'done', true, 'succeeded'],
    ['failed before a cancel reached it', 'failed', true, 'failed'],
  ])('R3: a job that was %s makes its step what the table says', (_what, end, asked, status) => {
    const cancel: RunInput[] = asked ? [{ type: 'cancel', step: id('plan'), reason: 'asked' }] : [];
    const state = play(DIAMOND, [{ type: 'begun' }, started('plan'), ...cancel, ended('plan', end)]);
    expect(state.steps.plan?.status).toBe(status);
  });

  it('R3: the run ends as its steps did', () => {
    const all = ['plan', 'left', 'right', 'join', 'report'].flatMap((step) => ran(step));
    expect(play(DIAMOND, [{ type: 'begun' }, ...all])).toMatchObject({ status: 'succeeded', terminal: true });
    const one = graphOf([{ id: 'plan' }]);
    expect(play(one, [{ type: 'begun' }, ...ran('plan', 'failed')])).toMatchObject({ status: 'failed' });
    const mixed = play(DIAMOND, [
      { type: 'begun' },
      ...ran('plan'),
      ...ran('left', 'failed'),
      ...ran('right'),
      ...ran('report'),
    ]);
    expect(mixed).toMatchObject({ status: 'mixed', terminal: true, terminalAt: NOW.toISOString() });
  });

  it('R3: a cancel ends what has not begun at once, and the run when the last job has ended', () => {
    const canceling = play(DIAMOND, [
      { type: 'begun' },
      started('plan'),
      { type: 'cancel', reason: 'asked' },
    ]);
    expect(canceling).toMatchObject({ status: 'canceling', terminal: false });
    expect(stepsToEnd(canceling)).toEqual(['plan']);
    expect(ready(canceling)).toEqual([]);
    expect(play(DIAMOND, [ended('plan', 'aborted')], canceling)).toMatchObject({
      status: 'canceled',
      terminal: true,
    });
  });

  it('R3: of a run that is queued a cancel is its end', () => {
    expect(play(DIAMOND, [{ type: 'cancel', reason: 'asked' }])).toMatchObject({
      status: 'canceled',
      terminal: true,
    });
  });

  it('R3: a step alone can be canceled; what needs it is blocked', () => {
    const state = play(DIAMOND, [{ type: 'begun' }, { type: 'cancel', step: id('left'), reason: 'asked' }]);
    expect(statuses(state)).toEqual(['pending', 'canceled', 'pending', 'blocked', 'pending']);
    expect(state.terminal).toBe(false);
  });

  it('J16: what is given up ends, begins no more, and is no success', () => {
    const state = play(DIAMOND, [
      { type: 'begun' },
      ...ran('plan'),
      started('left'),
      { type: 'give-up', reason: 'budget' },
    ]);
    expect(ready(state)).toEqual([]);
    expect(stepsToEnd(state)).toEqual(['left']);
    expect(play(DIAMOND, [ended('left', 'aborted')], state)).toMatchObject({
      status: 'mixed',
      reason: 'budget',
    });
  });

  it('R9: what has expired has ended, with its steps as they were', () => {
    const state = play(DIAMOND, [
      { type: 'begun' },
      started('plan'),
      { type: 'expire', reason: 'nobody came' },
    ]);
    expect(state).toMatchObject({ status: 'expired', terminal: true });
    expect(state.steps.plan?.status).toBe('running');
  });
});

/** A graph without circles, and a seed for what happens to it. */
const anyGraph = fc
  .array(fc.array(fc.tuple(fc.nat(100), fc.boolean()), { maxLength: 4 }), { minLength: 1, maxLength: 12 })
  .map((lists) =>
    graphOf(
      lists.map((edges, index) => {
        const to = (hard: boolean) =>
          edges.filter(([, needs]) => index > 0 && needs === hard).map(([other]) => `s${other % index}`);
        return { id: `s${index}`, needs: to(true), after: to(false) };
      }),
    ),
  );
const anyEnd = fc.constantFrom<JobEnd['status']>(
  'done',
  'done',
  'done',
  'failed',
  'aborted',
  'killed',
  'timed-out',
  'died',
);
const anyChoice = fc.record({ which: fc.nat(), end: anyEnd, extra: fc.nat(40) });

/** Drives a graph as an owner would, with ends in a random order; every state on the way. */
function drive(
  graph: Graph,
  choices: readonly { which: number; end: JobEnd['status']; extra: number }[],
  room: number,
): RunState[] {
  const states = [play(graph, [{ type: 'begun' }])];
  const current = (): RunState => states.at(-1) ?? newRunState(RUN, graph, NOW);
  const put = (input: RunInput): void => {
    states.push(advanceRun(current(), graph, input, NOW));
  };
  for (const { which, end, extra } of choices) {
    for (const step of readySteps(current(), graph, room))
      put({ type: 'step-started', step: step.id, job: step.id });
    const running = graph.steps.filter(({ id: step }) => current().steps[step]?.status === 'running');
    const step = running[which % Math.max(1, running.length)];
    if (extra === 0) put({ type: 'cancel', reason: 'asked' });
    if (extra === 1) put({ type: 'give-up', reason: 'time' });
    if (extra === 2 && step) put({ type: 'cancel', step: step.id, reason: 'asked' });
    if (step)
      put({ type: 'step-ended', step: step.id, end: { status: end, reason: null }, tokens: 1, cost: 0 });
  }
  return states;
}

describe('the order of steps in whatever order things happen (R3)', () => {
  const plays = fc.tuple(
    anyGraph,
    fc.array(anyChoice, { minLength: 13, maxLength: 60 }),
    fc.integer({ min: 1, max: 10 }),
  );

  it('R3: every run comes to an end, and then nothing changes any more', () => {
    fc.assert(
      fc.property(plays, ([graph, choices, room]) => {
        const states = drive(graph, choices, room);
        const last = states.at(-1);
        if (last === undefined || !last.terminal || !isFinalRun(last.status)) return false;
        const first = states.findIndex(({ terminal }) => terminal);
        return states.slice(first).every((state) => state === states[first]);
      }),
    );
  });

  it('R3: a final step never changes, and never more run than there is room for', () => {
    fc.assert(
      fc.property(plays, ([graph, choices, room]) => {
        const states = drive(graph, choices, room);
        return states.every((state, index) => {
          const before = states[index - 1];
          const kept = Object.entries(before?.steps ?? {}).every(
            ([step, was]) => !isFinalStep(was.status) || state.steps[step] === was,
          );
          return kept && statuses(state).filter((status) => status === 'running').length <= room;
        });
      }),
    );
  });

  it('R3: no step begins before what it needs has succeeded and what it is after has ended', () => {
    fc.assert(
      fc.property(plays, ([graph, choices, room]) =>
        drive(graph, choices, room).every((state) =>
          graph.steps.every(({ id: step, needs, after }) => {
            if (state.steps[step]?.attempts === 0) return true;
            const of = (other: StepId) => state.steps[other]?.status ?? 'pending';
            return (
              needs.every((other) => of(other) === 'succeeded') &&
              after.every((other) => isFinalStep(of(other)))
            );
          }),
        ),
      ),
    );
  });

  it('R3: succeeded means all, failed and canceled by nobody mean none, mixed some', () => {
    fc.assert(
      fc.property(plays, ([graph, choices, room]) => {
        const state = drive(graph, choices, room).at(-1);
        if (state === undefined) return false;
        const good = statuses(state).filter((status) => status === 'succeeded').length;
        if (state.status === 'succeeded') return good === graph.steps.length;
        if (state.status === 'failed') return good === 0;
        return state.status === 'canceled' || good > 0;
      }),
    );
  });
});
