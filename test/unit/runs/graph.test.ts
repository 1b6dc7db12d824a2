import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkGraph,
  dependenciesOf,
  filledPrompt,
  isStepId,
  partsOfPrompt,
} from '../../../src/runs/index.ts';

type Steps = readonly Record<string, unknown>[];

function objectionsTo(steps: Steps, maxSteps?: number): readonly string[] {
  const checked = checkGraph({ objective: 'try it', steps }, maxSteps);
  return 'objections' in checked ? checked.objections : [];
}

const step = (id: string, more: object = {}): Record<string, unknown> => ({
  id,
  prompt: `do ${id}`,
  ...more,
});
const many = (count: number): Steps => Array.from({ length: count }, (_, index) => step(`s${index}`));

describe('a graph (R3, R4)', () => {
  it('R4: has every default filled in', () => {
    const checked = checkGraph({
      objective: 'try it',
      steps: [step('one', { timeout: '30m', tools: ['read', 'bash'] })],
    });
    expect(checked).toEqual({
      graph: {
        objective: 'try it',
        steps: [
          {
            id: 'one',
            profile: null,
            prompt: 'do one',
            needs: [],
            after: [],
            cwd: null,
            worktree: false,
            timeoutSeconds: 1_800,
            model: null,
            tools: 'read,bash',
          },
        ],
      },
    });
  });

  it.each<[string, Steps, string]>([
    ['a circle', [step('a', { needs: ['b'] }), step('b', { after: ['a'] })], 'in a circle: a -> b -> a'],
    ['itself', [step('a', { needs: ['a'] })], 'in a circle: a -> a'],
    ['a step that is not there', [step('a', { needs: ['x'] })], 'step "a": there is no step "x"'],
    ['one id twice', [step('a'), step('a')], '"a" is there twice'],
    ['a bad id', [step('A b')], 'steps[0].id: use 1 to 64'],
    ['a word that no step has', [step('a', { need: ['b'] })], 'steps[0]: Unrecognized key'],
    ['no prompt', [{ id: 'a' }], 'steps[0].prompt'],
    ['no steps', [], 'steps'],
    ['a time that is none', [step('a', { timeout: 'soon' })], 'steps[0] "a".timeout: "soon" is no duration'],
    ['no time at all', [step('a', { timeout: 0 })], 'is no duration'],
    ['too long a time', [step('a', { timeout: '11h' })], '36000 seconds is the most'],
    ['17 steps', many(17), '17 of them, 16 is the most'],
    [
      '13 dependencies',
      [...many(13), step('last', { needs: many(13).map(({ id }) => id) })],
      'step "last": 13 dependencies, 12 is the most',
    ],
    [
      'a place that is none',
      [step('a', { prompt: '${steps.b}' })],
      '"${steps.b}" is no ${steps.<id>.output}',
    ],
    [
      'the result of a step that is not needed',
      [step('a'), step('b', { after: ['a'], prompt: '${steps.a.output}' })],
      'its prompt uses "a", which is not among its needs',
    ],
    [
      'the diff of a step without a worktree',
      [step('a'), step('b', { needs: ['a'], prompt: '${steps.a.diff}' })],
      'the diff of "a", which has no worktree',
    ],
  ])('R3: refuses %s', (_what, steps, objection) => {
    expect(objectionsTo(steps, 16).join('\n')).toContain(objection);
  });

  it('R3: names what lies behind a circle as out of reach', () => {
    const steps = [step('a', { needs: ['b'] }), step('b', { needs: ['a'] }), step('c', { needs: ['a'] })];
    expect(objectionsTo(steps)).toContain('step "c": it can never be reached');
  });

  it('R3: refuses what aliases make longer than a manifest may be', () => {
    const prompt = 'x'.repeat(200 * 1_024);
    const steps = Array.from({ length: 16 }, (_, index) => ({ id: `s${index}`, prompt }));
    expect(checkGraph({ objective: 'x', steps })).toMatchObject({
      objections: [expect.stringContaining('1048576')],
    });
  });

  it('R3: takes more steps when it is asked to', () => {
    expect(objectionsTo(many(17), 17)).toEqual([]);
    expect(objectionsTo(many(1_025), 1_024).join()).toContain('steps');
  });

  it('R4: a prompt takes results of what it needs through others', () => {
    const steps = [
      step('a'),
      step('b', { needs: ['a'] }),
      step('c', { needs: ['b'], prompt: '${steps.a.output}' }),
    ];
    expect(objectionsTo(steps)).toEqual([]);
  });

  it('R4: says each objection with its place, and never throws', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const checked = checkGraph(value);
        return 'graph' in checked || checked.objections.every((text) => text.length > 0);
      }),
    );
  });

  it('R3: accepts whatever has no circle, and nothing that has one', () => {
    const edges = fc.array(fc.tuple(fc.nat(7), fc.nat(7), fc.boolean()), { maxLength: 20 });
    fc.assert(
      fc.property(edges, (pairs) => {
        const steps = Array.from({ length: 8 }, (_, index) => {
          const to = (hard: boolean) =>
            pairs
              .filter(([from, , needs]) => from === index && needs === hard)
              .map(([, other]) => `s${other}`);
          return step(`s${index}`, { needs: to(true), after: to(false) });
        });
        const checked = checkGraph({ objective: 'x', steps });
        return 'graph' in checked === !hasCircle(pairs);
      }),
    );
  });

  it('R4: each dependency is in the graph once', () => {
    const checked = checkGraph({
      objective: 'x',
      steps: [step('a'), step('b', { needs: ['a', 'a'], after: ['a'] })],
    });
    expect('graph' in checked && checked.graph.steps.map(dependenciesOf)).toEqual([[], ['a']]);
  });
});

/** By following every edge as often as there are steps. */
function hasCircle(pairs: readonly (readonly [number, number, boolean])[]): boolean {
  return Array.from({ length: 8 }, (_, start) => start).some((start) => {
    let reached = new Set([start]);
    for (let round = 0; round < 8; round++) {
      reached = new Set(pairs.filter(([from]) => reached.has(from)).map(([, to]) => to));
      if (reached.has(start)) return true;
    }
    return false;
  });
}

describe('what a prompt takes from other steps (R4)', () => {
  const give = async (id: string, field: string): Promise<string> => `<${id} ${field}>`;

  it('R4: puts in results, and leaves a shell’s own places alone', async () => {
    const filled = await filledPrompt('A ${steps.one.output} B ${HOME} C $${steps.x.output}', give, isStepId);
    expect(filled).toBe('A <one output> B ${HOME} C ${steps.x.output}');
  });

  it('R4: what is put in is data: it is not looked at again', async () => {
    const filled = await filledPrompt('${steps.a.output}', async () => '${steps.b.output}', isStepId);
    expect(filled).toBe('${steps.b.output}');
  });

  it('R4: a prompt without places stays as it is, whatever is in it', () => {
    fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), async (text) => {
        fc.pre(!text.includes('${'));
        return (await filledPrompt(text, give, isStepId)) === text;
      }),
    );
  });

  it('R4: no part of a prompt is lost', () => {
    const piece = fc.constantFrom('${steps.', 'a', '.output', '}', '$', '\n', '$${');
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const prompt = pieces.join('');
        const written = partsOfPrompt(prompt).map((part) => {
          if (part.kind === 'place') return `\${steps.${part.step}.${part.field}}`;
          return part.text === '${' ? '$${' : part.text;
        });
        return written.join('') === prompt;
      }),
    );
  });
});
