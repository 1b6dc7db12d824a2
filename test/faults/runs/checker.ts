/** What is on the disk of a run, and what must hold of it (R11). It shares no code with the room. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isHeld } from '../../../src/lib/kernel-lock.ts';
import { processesOf } from '../jobs/processes.ts';
import { type RunScene, STEPS } from './scene.ts';
import type { Findings } from './world.ts';

export interface StepOnDisk {
  readonly status: string;
  readonly job: string | null;
  readonly reason: string | null;
  readonly attempts: number;
}

export interface RunOnDisk {
  readonly status: string;
  readonly terminal: boolean;
  readonly steps: Readonly<Record<string, StepOnDisk>>;
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function linesOf(path: string): string[] {
  return (textOf(path) ?? '').split('\n').filter((line) => line !== '');
}

export function stateOf(run: string): RunOnDisk {
  return JSON.parse(readFileSync(join(run, 'status.json'), 'utf8'));
}

/** The job of a step, by the name that follows from both ids. */
export function jobOf({ jobs }: RunScene, run: string, step: string): string {
  return join(jobs, `${step}-${basename(run)}`);
}

/** Whether the step's agent has finished, whatever its run knows. */
export function hasFinished(job: string): boolean {
  return textOf(join(job, 'exit_code'))?.trim() === '0';
}

/** How often each step's agent came to the end of its prompt. */
export function timesDone(scene: RunScene, run: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of linesOf(scene.done)) {
    const step = name.slice(0, -basename(run).length - 1);
    counts.set(step, (counts.get(step) ?? 0) + 1);
  }
  return counts;
}

interface Worktree {
  readonly stepId: string;
  readonly worktreePath: string;
  readonly branchName: string;
}

function worktreesOf(run: string): Worktree[] {
  return JSON.parse(readFileSync(join(run, 'worktrees.json'), 'utf8')).worktrees;
}

/** At any moment: what the run says has happened, and what it has is there. */
export function untrueNow(scene: RunScene, run: string): string[] {
  const found: string[] = [];
  const state = stateOf(run);
  for (const [id, step] of Object.entries(state.steps)) {
    const job = jobOf(scene, run, id);
    const isBegun = step.status !== 'pending' && step.status !== 'blocked';
    if (isBegun && step.job !== job) found.push(`${id} has the job ${step.job}`);
    if (!isBegun && existsSync(job)) found.push(`${id} is ${step.status} and has a job`);
    if (step.status === 'failed' && !step.reason) found.push(`${id} has failed and does not say why`);
    if (step.status !== 'succeeded') continue;
    if (!hasFinished(job)) found.push(`${id} has succeeded, and its job is not done`);
    found.push(...badOutput(run, id, job));
  }
  const recorded = worktreesOf(run);
  const places = join(run, 'worktrees');
  for (const name of existsSync(places) ? readdirSync(places) : []) {
    if (!name.startsWith('.') && !recorded.some(({ stepId }) => stepId === name))
      found.push(`the worktree ${name} is on the disk and not recorded`);
  }
  return [...found, ...badEvents(run, state, false)];
}

function badOutput(run: string, id: string, job: string): string[] {
  const [kept, output] = [textOf(join(run, 'artifacts', `${id}.output.md`)), textOf(join(job, 'output.txt'))];
  return kept !== undefined && kept === output ? [] : [`the output of ${id} is ${kept} and was ${output}`];
}

/** In order, none missing or twice; what a kill has torn is no line. */
function badEvents(run: string, state: RunOnDisk, isEnd: boolean): string[] {
  const found: string[] = [];
  let last = 0;
  const ends = new Map<string, string[]>();
  for (const line of linesOf(join(run, 'events.jsonl'))) {
    let event: { seq: number; type: string; step: string; status: string };
    try {
      event = JSON.parse(line);
    } catch {
      continue;
    }
    if (event.seq !== last + 1) found.push(`event ${event.seq} comes after ${last}`);
    last = event.seq;
    if (event.type === 'step' && event.status !== 'running')
      ends.set(event.step, [...(ends.get(event.step) ?? []), event.status]);
  }
  for (const [id, [status, ...more]] of ends) {
    if (more.length > 0) found.push(`the end of ${id} was told ${1 + more.length} times`);
    if (state.steps[id]?.status !== status) found.push(`${id} was told as ${status} and is not written so`);
  }
  if (isEnd && ends.size !== STEPS.length) found.push(`${ends.size} ends were told`);
  return found;
}

/**
 * When the run has come to its end.
 *
 * @param mayFail steps whose own beginning or end went wrong have failed, and say why
 */
export function findingsAtEnd(scene: RunScene, run: string, mayFail = false): Omit<Findings, 'done twice'> {
  const state = stateOf(run);
  const untrue = [...untrueNow(scene, run), ...badEvents(run, state, true)];
  if (!state.terminal || (state.status !== 'succeeded' && !mayFail))
    untrue.push(`the run is ${state.status}`);
  const allowed = mayFail ? ['succeeded', 'failed', 'blocked'] : ['succeeded'];
  for (const [id, { status }] of Object.entries(state.steps))
    if (!allowed.includes(status)) untrue.push(`${id} is ${status}`);
  if (isHeld(join(run, 'lock'))) untrue.push('its lock is held');
  return {
    untrue: [...new Set(untrue)],
    lost: lostWork(scene, run),
    processes: processesOf(scene.state).map(({ pid, words }) => `${pid} ${words.join(' ')}`),
    'left over': leftIn(scene, run),
  };
}

/** What an agent did in a worktree is there, in its diff too, and no worktree is missing. */
function lostWork({ project }: RunScene, run: string): string[] {
  const lost: string[] = [];
  const { steps } = stateOf(run);
  // What an owner could not do it has told.
  const problems = linesOf(join(run, 'events.jsonl'))
    .filter((line) => line.includes('"type":"problem"'))
    .join('\n');
  const records = worktreesOf(run);
  for (const { id, worktree } of STEPS) {
    if (!worktree || steps[id]?.status !== 'succeeded') continue;
    const record = records.find(({ stepId }) => stepId === id);
    const job = `${id}-${basename(run)}`;
    const [work, diff] = [
      textOf(join(record?.worktreePath ?? '', 'work.txt')),
      textOf(join(run, 'artifacts', `${id}.diff`)),
    ];
    if (!(work ?? '').startsWith(job)) lost.push(`the work of ${id}: ${work}`);
    const isTold = problems.includes(`the diff of step ${id}`);
    if (!isTold && !(diff ?? '').includes(`+${job}`)) lost.push(`the diff of ${id}: ${diff}`);
    if (textOf(join(project, '.git/refs/heads', record?.branchName ?? '-')) === undefined)
      lost.push(`the branch of ${id}`);
  }
  return lost;
}

function leftIn({ place }: RunScene, run: string): string[] {
  const left: string[] = [];
  for (const directory of [run, join(run, 'artifacts')])
    for (const name of readdirSync(directory)) if (name.startsWith('.')) left.push(join(directory, name));
  for (const name of readdirSync(place.root)) if (name.startsWith('.new-')) left.push(name);
  const sockets = join(place.root, '.sockets');
  for (const name of existsSync(sockets) ? readdirSync(sockets) : []) left.push(`socket ${name}`);
  return left;
}
