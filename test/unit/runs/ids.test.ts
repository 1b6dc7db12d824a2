import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJobName } from '../../../src/jobs/index.ts';
import { isRunId, isStepId, parseRunPrefix, proposeRunId, stepJobName } from '../../../src/runs/index.ts';

const bytes = (value: number) => (count: number) => new Uint8Array(count).fill(value);
const stepId = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,63}$/).filter(isStepId);
const run = proposeRunId(new Date('2026-12-01T13:25:59.001Z'), bytes(0));

describe('names of runs (R2)', () => {
  it('R2: an id is when the run was started, in UTC, and six random characters', () => {
    expect(run).toBe('20261201t132559-aaaaaa');
    expect(proposeRunId(new Date('1999-01-02T03:04:05Z'), bytes(31))).toBe('19990102t030405-777777');
  });

  it('R2: ids sort as their runs were started', () => {
    const times = fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true });
    fc.assert(
      fc.property(times, times, (one, other) => {
        const [a, b] = [one, other].map((time) => proposeRunId(time, bytes(1)));
        const [before, after] = [one, other].map((time) => Math.floor(time.getTime() / 1_000));
        return String(a) < String(b) === Number(before) < Number(after);
      }),
    );
  });

  it('R2: every beginning of an id may be typed, and nothing else', () => {
    for (let length = 1; length <= run.length; length++)
      expect(parseRunPrefix(run.slice(0, length))).toBe(run.slice(0, length));
    for (const bad of [
      '',
      'r1',
      '.',
      '..',
      '../x',
      `${run}a`,
      run.toUpperCase(),
      '2026-12',
      'x',
      '20261201t132559-a1',
    ])
      expect(() => parseRunPrefix(bad), bad).toThrow('is no id of a run');
  });

  it('R2: whatever is taken for an id is one component of a path', () => {
    fc.assert(fc.property(fc.string(), (text) => !isRunId(text) || /^[0-9a-z-]+$/.test(text)));
  });

  it('R7: the job of a step has a name of its own, the same each time', () => {
    fc.assert(
      fc.property(fc.uniqueArray(stepId, { minLength: 2, maxLength: 8 }), (steps) => {
        const names = steps.map((step) => stepJobName(run, step));
        return (
          names.every(isJobName) &&
          new Set(names).size === steps.length &&
          steps.every((step, index) => stepJobName(run, step) === names[index])
        );
      }),
    );
    const long = ['a'.repeat(60), `${'a'.repeat(59)}b`]
      .filter(isStepId)
      .map((step) => stepJobName(run, step));
    expect(new Set(long).size).toBe(2);
  });
});
