/**
 * What is true of jobs, read from the disk and from `/proc`. It shares no code with the room: what a job is, how it stands
 * and what may lie beside it is read as docs/jobs.md says.
 */
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isHeld } from '../../../src/lib/kernel-lock.ts';
import { look } from '../history/census.ts';
import { processesOf } from './processes.ts';
import { type JobScene, OLD } from './scene.ts';
import type { Findings } from './world.ts';

const STATUSES = new Map([
  ['0', 'done'],
  ['1', 'failed'],
  ['124', 'timed-out'],
  ['130', 'aborted'],
  ['137', 'killed'],
]);

/** Names of the project's jobs, whatever state they are in. */
export function jobsOf({ jobs }: JobScene): string[] {
  if (!existsSync(jobs)) return [];
  return readdirSync(jobs).filter(
    (name) => !name.startsWith('.') && name !== 'foreign' && lstatSync(join(jobs, name)).isDirectory(),
  );
}

/** When nothing of ours runs any more. */
export function statusOf(directory: string): string {
  if (isHeld(join(directory, 'lock'))) return 'live';
  const code = textOf(join(directory, 'exit_code'));
  return code === undefined ? 'died' : (STATUSES.get(code.trim()) ?? 'failed');
}

export function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** What was written and must still be there at the end: by file, how it begins. */
export type Written = Map<string, string>;

/** Conversations and logs only grow. */
export function written(scene: JobScene): Written {
  const found: Written = new Map();
  const add = (path: string): void => {
    const text = textOf(path);
    // A line that was torn by a kill is nobody's word.
    if (text !== undefined) found.set(path, text.slice(0, text.lastIndexOf('\n') + 1));
  };
  if (existsSync(scene.conversations))
    for (const name of readdirSync(scene.conversations)) add(join(scene.conversations, name));
  for (const name of jobsOf(scene)) add(join(scene.jobs, name, 'progress.log'));
  return found;
}

/** A prompt that a command said was taken. */
export interface Promised {
  readonly job: string;
  readonly prompt: string;
}

export function lossesOf(scene: JobScene, before: Written, promised: readonly Promised[]): string[] {
  const lost: string[] = [];
  for (const [path, text] of before) {
    if (!(textOf(path) ?? '').startsWith(text)) lost.push(`${path.slice(scene.top.length)} has changed`);
  }
  for (const { job, prompt } of promised) {
    const count = timesAsked(scene, job, prompt);
    if (count !== 1) lost.push(`job ${job} was asked "${prompt}" ${count} times`);
  }
  return lost;
}

function timesAsked(scene: JobScene, job: string, prompt: string): number {
  const session = sessionIn(textOf(join(scene.jobs, job, 'job.json')) ?? '');
  const lines = (textOf(String(session)) ?? '').split('\n');
  const asked = JSON.stringify(prompt);
  return lines.filter((line) => line.includes('"role":"user"') && line.includes(`"text":${asked}`)).length;
}

/** A result that is told is the result. */
function untrueOf(scene: JobScene, damaged: readonly string[]): string[] {
  return jobsOf(scene).flatMap((name) => {
    if (damaged.includes(name)) return [];
    const directory = join(scene.jobs, name);
    if (statusOf(directory) !== 'done') return [];
    const [prompt, output] = [textOf(join(directory, 'prompt.txt')), textOf(join(directory, 'output.txt'))];
    const right = prompt === OLD.prompt ? OLD.output : `did ${prompt}`;
    return output === right ? [] : [`${name} is done, was asked "${prompt}" and has "${output}"`];
  });
}

/** All that lies outside, as a text. */
export function outsideOf({ outside }: JobScene): string {
  return look(outside)
    .map(({ path, kind, content, modified }) => `${path} ${kind} ${content} ${modified}`)
    .join('\n');
}

/** When every job's next run has come to its end. */
export function restOf(
  scene: JobScene,
  outsideBefore: string,
  damaged: readonly string[],
): Omit<Findings, 'lost'> {
  const state = dirname(dirname(scene.sockets));
  const sockets = existsSync(scene.sockets) ? readdirSync(scene.sockets) : [];
  const processes = processesOf(state).map(({ pid, words }) => `${pid} ${words.join(' ')}`);
  const bystanders = scene.bystanders.filter(
    ({ exitCode, signalCode }) => exitCode !== null || signalCode !== null,
  );
  const outside = outsideOf(scene) === outsideBefore ? [] : ['it has changed'];
  if (textOf(join(scene.foreign, 'output.txt')) !== OLD.output) outside.push('a job of another project');
  return {
    untrue: untrueOf(scene, damaged),
    processes,
    sockets,
    'left over': leftoversOf(scene),
    outside: [...outside, ...bystanders.map(({ pid }) => `process ${pid} was ended`)],
  };
}

function leftoversOf(scene: JobScene): string[] {
  const entries = existsSync(scene.jobs) ? readdirSync(scene.jobs) : [];
  const left = entries.filter((name) => name.startsWith('.'));
  for (const name of jobsOf(scene)) {
    for (const file of readdirSync(join(scene.jobs, name)))
      if (file.startsWith('.')) left.push(`${name}/${file}`);
  }
  // Also of a job whose record nobody can read.
  const sessions = new Set(
    [...jobsOf(scene), 'foreign'].flatMap((name) => [
      sessionIn(textOf(join(scene.jobs, name, 'job.json')) ?? ''),
      join(scene.conversations, `${name}.jsonl`),
    ]),
  );
  const conversations = existsSync(scene.conversations) ? readdirSync(scene.conversations) : [];
  for (const name of conversations) {
    if (!sessions.has(join(scene.conversations, name))) left.push(`conversation ${name}`);
  }
  return left;
}

/** Undefined where it is no record. */
export function sessionIn(text: string): unknown {
  try {
    return JSON.parse(text).session;
  } catch {
    return undefined;
  }
}
