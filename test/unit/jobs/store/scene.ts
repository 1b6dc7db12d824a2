/** A state directory, a project and jobs in it, as a command would make them. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  createJob,
  type HeldJob,
  type JobDeps,
  type JobDirectory,
  type JobProject,
  type JobSettings,
  type JobSpec,
  type JobsPlace,
  jobFile,
  jobsPlace,
  parseJobName,
  projectAt,
  type ReopenDeps,
} from '../../../../src/jobs/index.ts';
import { systemClock } from '../../../../src/lib/clock.ts';

export interface JobScene {
  readonly top: string;
  readonly place: JobsPlace;
  readonly project: JobProject;
  readonly deps: JobDeps;
  readonly reopenDeps: ReopenDeps;
  /** A job whose first run this process holds. */
  start(name: string, more?: Partial<JobSpec>, settings?: Partial<JobSettings>): Promise<HeldJob>;
  /** A job that has ended. */
  ended(
    name: string,
    how?: { code?: number; at?: Date; settings?: Partial<JobSettings> },
  ): Promise<JobDirectory>;
}

export function jobScene(): JobScene {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'pi-jobs-')));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  const directory = join(top, 'project');
  mkdirSync(directory);
  const place = jobsPlace(
    { XDG_STATE_HOME: join(top, 'state'), PI_CODING_AGENT_DIR: join(top, 'agent') },
    top,
  );
  const project = projectAt(directory);
  const deps: JobDeps = { clock: systemClock, identity: { pid: process.pid, host: 'test' } };
  const settings: JobSettings = {
    cwd: directory,
    realCwd: directory,
    profile: null,
    piArgs: [],
    parentJob: null,
    depth: 0,
    maxDepth: 2,
    runMode: 'background',
    timeoutSeconds: 0,
    startedBySession: null,
    startedByRun: null,
    ask: false,
    maxCost: null,
    maxTokens: null,
  };
  const start: JobScene['start'] = async (name, more = {}, changed = {}) => {
    const held = await createJob(
      place,
      {
        project,
        name: parseJobName(name),
        asked: true,
        prompt: 'do it',
        systemPrompt: undefined,
        appendPrompt: (given) => `you are ${given}\n`,
        settings: { ...settings, ...changed },
        sessionDirectory: undefined,
        ...more,
      },
      deps,
    );
    onTestFinished(() => held.lock.release());
    return held;
  };
  return {
    top,
    place,
    project,
    deps,
    reopenDeps: { ...deps, sessionLocks: join(top, 'locks'), endOldProcesses: async () => {} },
    start,
    async ended(name, { code = 0, at = new Date(), settings: changed } = {}) {
      const held = await start(name, {}, changed);
      commit(held.directory, code, at);
      held.lock.release();
      return held.directory;
    },
  };
}

/** What a runner writes last. */
export function commit(directory: JobDirectory, code: number, at = new Date()): void {
  writeFileSync(jobFile(directory, 'ended_at'), `${at.toISOString()}\n`);
  writeFileSync(jobFile(directory, 'exit_code'), `${code}\n`);
}

export function contentOf(directory: JobDirectory, name: Parameters<typeof jobFile>[1]): string {
  return readFileSync(jobFile(directory, name), 'utf8');
}
