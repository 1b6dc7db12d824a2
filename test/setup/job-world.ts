/** Jobs of a test's own: real pi, the scripted model server, and nothing of the machine around them. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  endJobProcesses,
  type HeldJob,
  type JobDirectory,
  type JobFile,
  type JobRecord,
  jobDirectory,
  jobFile,
  jobsPlace,
  LOCK_FILE,
  parseJobName,
  projectFolder,
  type RunOptions,
  recordText,
} from '../../src/jobs/index.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { randomId } from '../../src/lib/ids.ts';
import { takeLock } from '../../src/lib/kernel-lock.ts';
import { type ModelServer, modelServer } from './model-server.ts';
import { piCli } from './pi.ts';

export interface JobWorld {
  readonly directory: string;
  readonly project: string;
  readonly model: ModelServer;
  readonly env: NodeJS.ProcessEnv;
  /** What every run of a test has. */
  readonly options: RunOptions;
  /** A job as a command hands it to its runner. */
  hold(name: string, prompt: string, record?: Partial<JobRecord>): Promise<HeldJob>;
  /** The next run of a job. */
  holdAgain(held: HeldJob, prompt: string): Promise<HeldJob>;
  /** TypeScript of an extension; arguments for pi that load it. */
  extension(source: string): string[];
  /** Ends what jobs left, and removes all files. */
  stop(): Promise<void>;
}

export interface JobWorldOptions {
  /** For `settings.json`. */
  settings?: object;
  /** Where the state lies, below the world's directory or absolute; long ones are worth a test. */
  state?: string;
}

export async function jobWorld({ settings = {}, state = 'state' }: JobWorldOptions = {}): Promise<JobWorld> {
  const directory = mkdtempSync(join(tmpdir(), 'pi-jobs-'));
  const model = await modelServer();
  const at = (name: string): string => {
    mkdirSync(join(directory, name), { recursive: true });
    return join(directory, name);
  };
  const [agent, project, bin] = [at('agent'), at('project'), at('bin')];
  writeFileSync(join(agent, 'models.json'), model.models);
  writeFileSync(join(agent, 'settings.json'), JSON.stringify({ ...JSON.parse(model.settings), ...settings }));
  // `pi` as the runner's program finds it.
  const pi = join(bin, 'pi');
  writeFileSync(pi, `#!/bin/sh\nexec "${process.execPath}" "${piCli()}" "$@"\n`);
  chmodSync(pi, 0o755);
  const { PATH } = process.env;
  const env: NodeJS.ProcessEnv = {
    PATH: `${bin}:${PATH ?? ''}`,
    HOME: at('home'),
    LANG: 'C.UTF-8',
    XDG_STATE_HOME: resolve(directory, state),
    PI_CODING_AGENT_DIR: agent,
    PI_OFFLINE: '1',
    PI_TELEMETRY: '0',
    PI_SKIP_VERSION_CHECK: '1',
  };
  const place = jobsPlace(env, join(directory, 'home'));
  const jobs: JobDirectory[] = [];
  let extensions = 0;

  async function held(job: JobDirectory, record: JobRecord): Promise<HeldJob> {
    const lock = await takeLock(jobFile(job, LOCK_FILE));
    writeFileSync(jobFile(job, 'status'), 'starting\n');
    return { place, directory: job, record, lock };
  }

  return {
    directory,
    project,
    model,
    env,
    options: {
      clock: systemClock,
      ids: () => randomId(8),
      env,
      piCommand: { command: process.execPath, args: [piCli()] },
    },
    async hold(name, prompt, more = {}) {
      const job = jobDirectory(place, projectFolder(project), parseJobName(name));
      mkdirSync(job, { recursive: true });
      jobs.push(job);
      const record: JobRecord = { ...plainRecord(name, project, directory), ...more };
      writeFileSync(join(job, 'job.json'), recordText(record));
      writeFileSync(jobFile(job, 'prompt.txt'), prompt);
      writeFileSync(jobFile(job, 'runs'), '1\n');
      return held(job, record);
    },
    async holdAgain({ directory: job, record }, prompt) {
      for (const name of ['exit_code', 'ended_at', 'reason', 'output.txt', 'model'] as const) {
        rmSync(jobFile(job, name), { force: true });
      }
      writeFileSync(jobFile(job, 'prompt.txt'), prompt);
      writeFileSync(jobFile(job, 'runs'), '2\n');
      return held(job, record);
    },
    extension(source) {
      const file = join(directory, `extension-${extensions++}.ts`);
      writeFileSync(file, source);
      return ['-e', file];
    },
    async stop() {
      for (const job of jobs) await endJobProcesses(job, { clock: systemClock });
      await model.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function plainRecord(name: string, project: string, directory: string): JobRecord {
  return {
    version: 1,
    name,
    project,
    realProject: project,
    cwd: project,
    realCwd: project,
    profile: null,
    piArgs: [],
    parentJob: null,
    depth: 0,
    maxDepth: 2,
    runMode: 'background',
    timeoutSeconds: 60,
    startedBySession: null,
    startedByRun: null,
    notifiedAt: null,
    createdAt: '2026-01-01T00:00:00.000Z',
    session: join(directory, 'conversations', `${name}.jsonl`),
    ask: false,
    maxCost: null,
    maxTokens: null,
  };
}

/** A file of a job without its line end; undefined where there is none. */
export function fileOf(job: JobDirectory, name: JobFile): string | undefined {
  const path = jobFile(job, name);
  return existsSync(path) ? readFileSync(path, 'utf8').replace(/\n$/, '') : undefined;
}
