/** `multi-agent` as a user calls it: the built program, real pi on PATH, a scripted model, and nothing of the machine. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { endJobProcesses, type JobDirectory, jobsPlace, listJobs } from '../../../../src/jobs/index.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { builtProgram } from '../../../setup/built-program.ts';
import { type ModelServer, modelServer } from '../../../setup/model-server.ts';
import { piCli } from '../../../setup/pi.ts';

export interface Call {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface CommandScene {
  top: string;
  project: string;
  agent: string;
  model: ModelServer;
  env: NodeJS.ProcessEnv;
  /** Starts the command; its ends are awaited by {@link ended}. */
  spawn(
    words: readonly string[],
    more?: { env?: NodeJS.ProcessEnv; cwd?: string; input?: string },
  ): ChildProcess;
  call(...words: string[]): Promise<Call>;
  callWith(
    more: { env?: NodeJS.ProcessEnv; cwd?: string; input?: string },
    ...words: string[]
  ): Promise<Call>;
  json(...words: string[]): Promise<Record<string, unknown>>;
  jobDirectory(name: string): JobDirectory;
}

let program: string | undefined;

export async function commandScene(): Promise<CommandScene> {
  program ??= builtProgram('src/agent/multi-agent.ts', [
    'src/agent/multi-agent-runner.ts',
    'src/agent/multi-agent-owner.ts',
    'src/agent/multi-agent-scheduler.ts',
    'src/agent/profiles',
  ]);
  const path = program;
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'pi-ma-')));
  const model = await modelServer();
  const at = (name: string): string => {
    mkdirSync(join(top, name), { recursive: true });
    return join(top, name);
  };
  const [agent, project, bin] = [at('agent'), at('project'), at('bin')];
  writeFileSync(join(agent, 'models.json'), model.models);
  writeFileSync(join(agent, 'settings.json'), model.settings);
  writeFileSync(join(bin, 'pi'), `#!/bin/sh\nexec "${process.execPath}" "${piCli()}" "$@"\n`, {
    mode: 0o755,
  });
  writeFileSync(join(bin, 'multi-agent'), `#!/bin/sh\nexec "${process.execPath}" "${path}" "$@"\n`, {
    mode: 0o755,
  });
  const env: NodeJS.ProcessEnv = {
    PATH: [bin, dirname(process.execPath), process.env.PATH].join(delimiter),
    HOME: at('home'),
    LANG: 'C.UTF-8',
    XDG_STATE_HOME: at('state'),
    XDG_RUNTIME_DIR: at('runtime'),
    PI_CODING_AGENT_DIR: agent,
    PI_OFFLINE: '1',
    PI_TELEMETRY: '0',
    PI_SKIP_VERSION_CHECK: '1',
  };
  onTestFinished(async () => {
    await endAll(env, top);
    await model.stop();
    rmSync(top, { recursive: true, force: true, maxRetries: 3 });
  });
  const start: CommandScene['spawn'] = (words, { env: more, cwd = project, input } = {}) => {
    const child = spawn(process.execPath, [path, ...words], {
      cwd,
      env: { ...env, PWD: cwd, ...more },
      stdio: 'pipe',
    });
    child.stdin.end(input ?? '');
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  };
  const callWith: CommandScene['callWith'] = (more, ...words) => ended(start(words, more));
  return {
    top,
    project,
    agent,
    model,
    env,
    spawn: start,
    callWith,
    call: (...words) => callWith({}, ...words),
    async json(...words) {
      const { stdout, stderr } = await callWith({}, ...words, '--json');
      if (stdout === '') throw new Error(stderr);
      return JSON.parse(stdout);
    },
    jobDirectory: (name) =>
      join(top, 'state/pi-multi-agent', project.slice(1).replace(/[^A-Za-z0-9]/g, '-'), 'jobs', name),
  };
}

export async function ended(child: ChildProcess): Promise<Call> {
  const code = new Promise<number | null>((settle) => child.once('close', settle));
  const [stdout, stderr] = await Promise.all([
    child.stdout ? text(child.stdout) : '',
    child.stderr ? text(child.stderr) : '',
  ]);
  return { code: await code, stdout, stderr };
}

/** Whatever a test that failed has left: by its job, as a resume would find it. */
async function endAll(env: NodeJS.ProcessEnv, home: string): Promise<void> {
  const place = jobsPlace(env, home);
  const { jobs } = await listJobs(place, undefined);
  for (const { directory } of jobs) {
    await runnersEnd(place, directory);
    await endJobProcesses(directory, { clock: systemClock });
  }
}

async function runnersEnd(place: ReturnType<typeof jobsPlace>, directory: JobDirectory): Promise<void> {
  const { askJob } = await import('../../../../src/jobs/index.ts');
  await askJob(place, directory, { op: 'kill' }, { timeoutMs: 10_000 }).catch(() => undefined);
}
