/** What must hold of jobs after any fault (J11): the list is true, every job's next run works, nothing is lost or left. */
import { existsSync, readdirSync, utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expectThat } from '../commands.ts';
import {
  jobsOf,
  lossesOf,
  outsideOf,
  type Promised,
  restOf,
  sessionIn,
  statusOf,
  textOf,
  written,
} from './checker.ts';
import { isOurs, processesOf } from './processes.ts';
import type { Called, JobScene } from './scene.ts';
import type { JobsWorld } from './world.ts';

const QUIET_MS = 30_000;
const HOUR_MS = 3_600_000;

export interface Watched {
  /** Prompts that a command took with success; the job must have been asked exactly once. */
  readonly promised: Promised[];
  /** Prompts that a command took to hand them to a job; they must be in its files. */
  readonly taken: Promised[];
  /** Waits until no command and no runner goes on any more. */
  settle(): Promise<void>;
  /** To be called when the fault is over: throws when something does not hold. */
  finish(options?: FinishOptions): Promise<void>;
}

export interface FinishOptions {
  /** Jobs whose record was damaged: the list must show them in some way, and they may refuse. */
  readonly damaged?: readonly string[];
}

/** To be called before the fault. */
export function watch(world: JobsWorld, scene: JobScene): Watched {
  const promised: Promised[] = [];
  const taken: Promised[] = [];
  const outside = outsideOf(scene);
  const broken: string[] = [];
  let before = written(scene);
  world.inspect(() => ({ lost: lossesOf(scene, before, promised), ...restOf(scene, outside, broken) }));
  return {
    promised,
    taken,
    settle: () => quiet(scene),
    async finish({ damaged = [] } = {}) {
      broken.push(...damaged);
      await quiet(scene);
      for (const { job, prompt } of taken) {
        const text = textOf(join(scene.jobs, job, 'prompt.txt'));
        expectThat(text === prompt, `${job} was given "${prompt}", and its prompt is "${text}"`);
      }
      // Of a job that was removed nothing needs to be there.
      for (const path of before.keys()) if (!existsSync(path)) before.delete(path);
      before = new Map([...written(scene), ...before]);
      for (const path of goingConversations(scene)) before.delete(path);
      await listIsTrue(scene, damaged);
      for (const name of jobsOf(scene)) await nextRunWorks(scene, name, damaged.includes(name));
      await listIsTrue(scene, damaged);
      await pruneClears(scene);
      // A runner that has let go of its job needs a moment to end.
      await quiet(scene);
    },
  };
}

/** Words of ours, never a crash of Node's. */
export function saysInWords(called: Called, words: string): void {
  const { code, signal, stdout, stderr } = called;
  expectThat(signal === null, `${words} ended by ${signal}: ${stderr}`);
  // While Node reads the program itself, there is nobody yet to say it in words.
  const isNodes = stderr.includes('made by the fault run') && stderr.includes('node:internal/modules/');
  expectThat(isNodes || !/^\s+at .*[:)]/m.test(stderr), `${words} shows a stack trace: ${stderr}`);
  // Of a job that was killed `wait` says so on standard output.
  expectThat(
    code === 0 || `${stdout}${stderr}`.trim() !== '',
    `${words} ended with ${code} and says nothing`,
  );
}

/** No command and no runner of this scene lives any more. */
async function quiet(scene: JobScene): Promise<void> {
  const state = dirname(dirname(scene.sockets));
  const until = Date.now() + QUIET_MS;
  for (let running = processesOf(state).filter(isOurs); running.length > 0; ) {
    expectThat(
      Date.now() < until,
      `still running: ${running.map(({ words }) => words.join(' ')).join('; ')}`,
    );
    await sleep(50);
    running = processesOf(state).filter(isOurs);
  }
}

/** Of jobs whose removal was cut short: the next prune goes on with it. */
function goingConversations({ jobs }: JobScene): string[] {
  const gone = existsSync(jobs) ? readdirSync(jobs).filter((name) => name.startsWith('.gone-')) : [];
  return gone.map((name) => String(sessionIn(textOf(join(jobs, name, 'job.json')) ?? '')));
}

interface Listing {
  jobs: { name: string; status: string; directory: string }[];
  broken: { directory: string }[];
}

async function listIsTrue(scene: JobScene, damaged: readonly string[]): Promise<void> {
  const called = await scene.call(['list', '--json']);
  saysInWords(called, 'list');
  expectThat(called.code === 0, `list ended with ${called.code}: ${called.stderr}`);
  const { jobs, broken }: Listing = JSON.parse(called.stdout);
  for (const name of jobsOf(scene)) {
    const directory = join(scene.jobs, name);
    const entries = jobs.filter((job) => job.directory === directory);
    const isBroken = broken.some((job) => job.directory === directory);
    // A record that was damaged may say anything, such as that it is another project's.
    if (damaged.includes(name)) continue;
    expectThat(entries.length === 1 && !isBroken, `${name} is listed ${entries.length} times`);
    const truth = statusOf(directory);
    expectThat(entries[0]?.status === truth, `${name} is listed as ${entries[0]?.status}, and is ${truth}`);
  }
  const strange = jobs.filter(
    ({ directory }) => !jobsOf(scene).includes(directory.slice(scene.jobs.length + 1)),
  );
  expectThat(strange.length === 0, `also listed: ${strange.map(({ directory }) => directory).join()}`);
}

async function nextRunWorks(scene: JobScene, name: string, mayRefuse: boolean): Promise<void> {
  const prompt = `again-${name} 0`;
  const called = await scene.call(['resume', name, prompt, '--wait']);
  saysInWords(called, `resume ${name}`);
  if (mayRefuse && called.code !== 0) return;
  expectThat(called.code === 0, `resume ${name} ended with ${called.code}: ${called.stderr}`);
  expectThat(called.stdout === `did ${prompt}\n`, `resume ${name} printed ${JSON.stringify(called.stdout)}`);
}

/** What a killed start or removal has left is cleared when it is old enough. */
async function pruneClears(scene: JobScene): Promise<void> {
  const leftovers = existsSync(scene.jobs)
    ? readdirSync(scene.jobs).filter((name) => name.startsWith('.'))
    : [];
  if (leftovers.length === 0) return;
  const past = new Date(Date.now() - HOUR_MS);
  for (const name of leftovers) utimesSync(join(scene.jobs, name), past, past);
  const called = await scene.call(['prune']);
  saysInWords(called, 'prune');
  expectThat(called.code === 0, `prune ended with ${called.code}: ${called.stderr}`);
}
