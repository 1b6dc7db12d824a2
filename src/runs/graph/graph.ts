/** A graph that can be run: read, with every default filled in, and without any of the faults that R3 and R4 name. */
import { parseDuration } from '../../lib/duration.ts';
import { isStepId, type StepId } from '../ids.ts';
import { LIMITS } from '../limits.ts';
import { type GraphFile, readGraphFile } from './schema.ts';
import { partsOfPrompt } from './template.ts';

export interface Step {
  readonly id: StepId;
  readonly profile: string | null;
  readonly prompt: string;
  readonly needs: readonly StepId[];
  readonly after: readonly StepId[];
  readonly cwd: string | null;
  readonly worktree: boolean;
  readonly timeoutSeconds: number;
  readonly model: string | null;
  readonly tools: string | null;
}

export interface Graph {
  readonly objective: string;
  readonly steps: readonly Step[];
}

/** As JSON, with aliases filled in: so much fits into a manifest with all else. The file may be no longer than a quarter of it. */
const FILLED_BYTES = 1_024 * 1_024;

export type CheckedGraph = { readonly graph: Graph } | { readonly objections: readonly string[] };

/** @param maxSteps as `--max-steps`, at most {@link LIMITS.mostSteps} */
export function checkGraph(value: unknown, maxSteps: number = LIMITS.steps): CheckedGraph {
  const read = readGraphFile(value);
  if ('objections' in read) return read;
  const bytes = Buffer.byteLength(JSON.stringify(read.graph));
  if (bytes > FILLED_BYTES)
    return {
      objections: [
        `the graph: with its aliases filled in it has ${bytes} bytes, ${FILLED_BYTES} is the most`,
      ],
    };
  const objections: string[] = [];
  const steps = read.graph.steps.flatMap((step, index) => {
    const made = stepOf(step, (field, text) =>
      objections.push(`steps[${index}] "${step.id}"${field}: ${text}`),
    );
    return made ? [made] : [];
  });
  if (steps.length > maxSteps)
    objections.push(
      `steps: ${steps.length} of them, ${maxSteps} is the most; --max-steps allows up to ${LIMITS.mostSteps}`,
    );
  objections.push(...referenceFaults(steps));
  if (objections.length === 0) objections.push(...orderFaults(steps));
  if (objections.length === 0) objections.push(...placeFaults(steps));
  return objections.length > 0 ? { objections } : { graph: { objective: read.graph.objective, steps } };
}

function stepOf(
  { id, needs = [], after = [], tools, timeout, ...step }: GraphFile['steps'][number],
  object: (field: string, text: string) => void,
): Step | undefined {
  if (!isStepId(id)) return undefined;
  return {
    id,
    profile: step.profile ?? null,
    prompt: step.prompt,
    // Said twice is said once; what must succeed need not be waited for besides.
    needs: [...new Set(needs.filter(isStepId))],
    after: [...new Set(after.filter(isStepId))].filter((other) => !needs.includes(other)),
    cwd: step.cwd ?? null,
    worktree: step.worktree ?? false,
    timeoutSeconds: timeoutOf(timeout, object),
    model: step.model ?? null,
    tools: Array.isArray(tools) ? tools.join(',') : (tools ?? null),
  };
}

function timeoutOf(
  given: number | string | undefined,
  object: (field: string, text: string) => void,
): number {
  if (given === undefined) return LIMITS.stepSeconds;
  const milliseconds = typeof given === 'number' ? given * 1_000 : parseDuration(given);
  if (milliseconds === undefined || !(milliseconds > 0)) {
    object('.timeout', `${JSON.stringify(given)} is no duration such as 30m, nor seconds`);
    return LIMITS.stepSeconds;
  }
  if (milliseconds > LIMITS.mostStepSeconds * 1_000)
    object('.timeout', `${LIMITS.mostStepSeconds} seconds is the most`);
  return milliseconds / 1_000;
}

function referenceFaults(steps: readonly Step[]): string[] {
  const faults: string[] = [];
  const ids = new Set<string>();
  for (const { id } of steps) {
    if (ids.has(id)) faults.push(`steps: "${id}" is there twice`);
    ids.add(id);
  }
  for (const { id, needs, after } of steps) {
    const all = [...needs, ...after];
    for (const other of all) if (!ids.has(other)) faults.push(`step "${id}": there is no step "${other}"`);
    if (all.length > LIMITS.dependencies)
      faults.push(`step "${id}": ${all.length} dependencies, ${LIMITS.dependencies} is the most`);
  }
  return faults;
}

/** Steps that can never begin: those in a circle, and those that wait for one of them. */
function orderFaults(steps: readonly Step[]): string[] {
  const left = new Map(steps.map((step) => [step.id, step]));
  for (let removed = true; removed; ) {
    removed = false;
    for (const [id, step] of left) {
      if (dependenciesOf(step).some((other) => left.has(other))) continue;
      left.delete(id);
      removed = true;
    }
  }
  const circle = circleIn(left);
  if (circle === undefined) return [];
  const behind = [...left.keys()].filter((id) => !circle.includes(id));
  return [
    `steps: they wait for each other in a circle: ${[...circle, circle[0]].join(' -> ')}`,
    ...behind.map((id) => `step "${id}": it can never be reached`),
  ];
}

/** One circle among steps of which each waits for another one. */
function circleIn(left: ReadonlyMap<StepId, Step>): StepId[] | undefined {
  const way: StepId[] = [];
  let [id] = left.keys();
  while (id !== undefined) {
    const seen = way.indexOf(id);
    if (seen >= 0) return way.slice(seen);
    way.push(id);
    const step = left.get(id);
    id = step && dependenciesOf(step).find((other) => left.has(other));
  }
  return undefined;
}

export function dependenciesOf({ needs, after }: Step): StepId[] {
  return [...needs, ...after];
}

/** What a prompt takes must be there when the step begins: so from what it needs, directly or through others. */
function placeFaults(steps: readonly Step[]): string[] {
  const byId = new Map(steps.map((step) => [step.id, step]));
  return steps.flatMap(({ id, prompt }) => {
    const needed = neededBy(byId, id);
    return partsOfPrompt(prompt).flatMap((part) => {
      if (part.kind === 'text') return [];
      if (part.kind === 'bad')
        return [`step "${id}": ${JSON.stringify(part.text)} is no \${steps.<id>.output}, .diff or .worktree`];
      const other = [...needed].find((step) => step === part.step);
      if (other === undefined)
        return [`step "${id}": its prompt uses "${part.step}", which is not among its needs`];
      if (part.field === 'output' || byId.get(other)?.worktree) return [];
      return [`step "${id}": its prompt uses the ${part.field} of "${other}", which has no worktree`];
    });
  });
}

function neededBy(steps: ReadonlyMap<StepId, Step>, id: StepId): Set<StepId> {
  const found = new Set<StepId>();
  const open = [...(steps.get(id)?.needs ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    open.push(...(steps.get(next)?.needs ?? []));
  }
  return found;
}
