/** Runs of a test's own: real pi in real jobs, the scripted model server, and nothing of the machine around them. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { endJobProcesses, jobFile, projectAt } from '../../src/jobs/index.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { takeLock } from '../../src/lib/kernel-lock.ts';
import { isRunId, isStepId } from '../../src/runs/ids.ts';
import {
  advanceRun,
  checkGraph,
  createRun,
  type HeldRun,
  LIMITS,
  type OwnerDeps,
  outputArtifact,
  parseStatus,
  type RunDirectory,
  type RunEvent,
  type RunInput,
  type RunState,
  type RunsPlace,
  readEvents,
  readManifest,
  readState,
  runLock,
  runsPlace,
  STATUS_FILE,
  type StartRequest,
  stepJobName,
  writeState,
} from '../../src/runs/index.ts';
import { type JobWorld, type JobWorldOptions, jobWorld } from './job-world.ts';
import { until } from './pi.ts';

const ROOT = join(import.meta.dirname, '../..');

export interface RunWorld extends JobWorld {
  readonly place: RunsPlace;
  readonly deps: OwnerDeps;
  /** A run as a command hands it to its owner. Steps in the words of a graph file. */
  create(steps: readonly object[], more?: CreateOptions): Promise<HeldRun>;
  /** Whoever takes up an orphan. */
  take(directory: RunDirectory): Promise<HeldRun>;
  /** The run as an owner leaves it that was killed, with a step's job that is done, was killed, or, with neither, has died. */
  withJob(held: HeldRun, step: string, job: { output?: string; killed?: boolean }): Promise<HeldRun>;
  /** Directory of a step's job. */
  jobOf(held: HeldRun, step: string): string;
}

export interface CreateOptions {
  readonly settings?: Partial<StartRequest['settings']>;
  readonly session?: string | null;
}

export async function runWorld(options: JobWorldOptions = {}): Promise<RunWorld> {
  const jobs = await jobWorld(options);
  const { env, directory, project } = jobs;
  const place = runsPlace(env, join(directory, 'home'));
  const identity = { pid: process.pid, host: 'here', uid: process.getuid?.() ?? 0 };
  const runner = { command: process.execPath, args: [join(ROOT, 'src/agent/multi-agent-runner.ts')] };
  const folder = projectAt(project).folder;
  const jobsDirectory = join(place.jobs.state, folder, 'jobs');

  function jobOf({ manifest: { runId } }: HeldRun, step: string): string {
    if (!isRunId(runId) || !isStepId(step)) throw new Error(`${runId} ${step}`);
    return join(jobsDirectory, stepJobName(runId, step));
  }

  return {
    ...jobs,
    place,
    deps: { clock: systemClock, env, identity, runner, shippedProfiles: join(ROOT, 'src/agent/profiles') },
    create(steps, { settings = {}, session = null } = {}) {
      const checked = checkGraph({ objective: 'a test', steps }, LIMITS.mostSteps);
      if ('objections' in checked) throw new Error(checked.objections.join('\n'));
      const request: StartRequest = {
        graph: checked.graph,
        project: projectAt(project),
        cwd: project,
        session,
        below: { parentJob: null, depth: 0, maxDepth: 2 },
        settings: {
          concurrency: LIMITS.concurrency,
          timeoutSeconds: LIMITS.runSeconds,
          terminalRetentionSeconds: LIMITS.retentionSeconds,
          retry: 'died',
          maxCost: null,
          maxTokens: null,
          ...settings,
        },
        schedule: null,
      };
      return createRun(place, request, { clock: systemClock, identity });
    },
    async take(run) {
      const lock = await takeLock(runLock(run), { waitMs: 5_000 });
      const [manifest, state] = [await readManifest(run), await readState(run)];
      if (manifest.kind !== 'known' || state.kind !== 'known') throw new Error(`${run} cannot be read`);
      return { place, directory: run, manifest: manifest.value, state: state.value, lock };
    },
    async withJob(held, id, { output, killed = false }) {
      const { runId, graph } = held.manifest;
      const step = graph.steps.find((one) => one.id === id);
      if (step === undefined) throw new Error(id);
      const job = jobOf(held, id);
      const started = await jobs.hold(basename(job), step.prompt, { startedByRun: runId });
      if (output !== undefined) {
        writeFileSync(jobFile(job, 'output.txt'), output);
        writeFileSync(jobFile(job, 'exit_code'), '0\n');
      }
      if (killed) writeFileSync(jobFile(job, 'exit_code'), '137\n');
      started.lock.release();
      const inputs: RunInput[] = [{ type: 'begun' }, { type: 'step-started', step: step.id, job }];
      const state = inputs.reduce((now, input) => advanceRun(now, graph, input, new Date()), held.state);
      await writeState(held.directory, state);
      return { ...held, state };
    },
    jobOf,
    async stop() {
      for (const name of namesIn(jobsDirectory))
        await endJobProcesses(join(jobsDirectory, name), { clock: systemClock });
      await jobs.stop();
    },
  };
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => !name.startsWith('.'));
  } catch {
    return [];
  }
}

/** `{ a: 'succeeded', … }`. */
export function statusesOf({ steps }: RunState): Record<string, string> {
  return Object.fromEntries(Object.entries(steps).map(([id, { status }]) => [id, status]));
}

export function outputOf({ directory }: HeldRun, step: string): string {
  if (!isStepId(step)) throw new Error(step);
  return readFileSync(outputArtifact(directory, step), 'utf8');
}

export async function eventsOf(directory: RunDirectory): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const line of readEvents(directory)) {
    if (line.kind === 'problem') throw new Error(`line ${line.line}: ${line.reason}`);
    events.push(line.event);
  }
  return events;
}

/** The state on the disk. */
export function stateOf(directory: RunDirectory): RunState {
  const state = parseStatus(readFileSync(join(directory, STATUS_FILE), 'utf8'), basename(directory));
  if (state.kind !== 'known') throw new Error(`the state of ${directory} is ${state.kind}`);
  return state.value;
}

/** Waits until the state on the disk is such. */
export async function untilState(
  directory: RunDirectory,
  what: string,
  isSo: (state: RunState) => boolean,
): Promise<RunState> {
  await until(what, () => isSo(stateOf(directory)));
  return stateOf(directory);
}
