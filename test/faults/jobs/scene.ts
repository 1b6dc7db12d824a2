/** A state directory of its own with a job that has ended, and `multi-agent` as a user calls it there. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { builtProgram } from '../../setup/built-program.ts';
import { ENDED, writeEndedJob } from '../../setup/ended-job.ts';
import type { FaultPlan } from '../history/broken-fs.ts';
import type { Broken } from './broken-program.ts';
import { endEverything } from './processes.ts';
import { writeStandIn } from './stand-in.ts';
import type { JobsWorld } from './world.ts';

/** A command that takes longer hangs. */
const PATIENCE_MS = 60_000;
/** The job that ended long ago. */
export const OLD = { name: 'old', ...ENDED };

export interface Called {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly process: ChildProcess;
  readonly ended: Promise<Called>;
}

/** Which of our programs has its file system broken, and how. */
export interface Fault {
  readonly program: 'multi-agent' | 'multi-agent-runner';
  readonly plan: FaultPlan;
}

export interface JobScene {
  readonly top: string;
  readonly project: string;
  /** Holds the directories of the project's jobs. */
  readonly jobs: string;
  readonly sockets: string;
  readonly conversations: string;
  readonly outside: string;
  /** Of another project of the same folder name. */
  readonly foreign: string;
  /** One line each: how many calls a broken program has made. */
  readonly counts: string;
  readonly bystanders: readonly ChildProcess[];
  start(words: readonly string[], fault?: Fault): Running;
  call(words: readonly string[], fault?: Fault): Promise<Called>;
}

let programs: { command: string; broken: string } | undefined;

function builtPrograms(): { command: string; broken: string } {
  programs ??= {
    command: builtProgram('src/agent/multi-agent.ts', [
      'src/agent/multi-agent-runner.ts',
      'src/agent/profiles',
    ]),
    broken: builtProgram('test/faults/jobs/broken-program.ts'),
  };
  return programs;
}

export interface SceneOptions {
  /** Where the state lies; a small disk, say. */
  readonly state?: string;
  /** Writes the command `pi`, and into the agent directory what that one needs; default a stand-in. */
  readonly pi?: (command: string, agent: string) => void;
}

export function makeJobScene(world: JobsWorld, options: SceneOptions = {}): JobScene {
  const top = realpathSync(mkdtempSync(join(world.directory, 's-')));
  const at = (...names: string[]): string => {
    const path = join(top, ...names);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return path;
  };
  const [project, agent, bin, outside] = [at('a-b'), at('agent'), at('bin'), at('outside')];
  const state = options.state ?? at('state');
  writeFileSync(join(outside, 'kept'), 'x');
  (options.pi ?? writeStandIn)(join(bin, 'pi'), agent);
  const folder = project.slice(1).replace(/[^A-Za-z0-9]/g, '-');
  const jobs = join(state, 'pi-multi-agent', folder, 'jobs');
  const env: NodeJS.ProcessEnv = {
    PATH: `${bin}:${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
    HOME: at('home'),
    LANG: 'C.UTF-8',
    XDG_STATE_HOME: state,
    XDG_RUNTIME_DIR: at('runtime'),
    PI_CODING_AGENT_DIR: agent,
    PI_OFFLINE: '1',
    PI_TELEMETRY: '0',
    PI_SKIP_VERSION_CHECK: '1',
    PWD: project,
  };
  const counts = join(top, 'counts');
  writeFileSync(counts, '');
  const conversations = join(agent, 'multi-agent-sessions', folder);
  const foreign = join(jobs, 'foreign');
  writeEndedJob(join(jobs, OLD.name), project, conversations);
  writeEndedJob(foreign, join(top, 'a/b'), conversations);
  symlinkSync(outside, join(jobs, 'link'));
  const bystanders = [join(top, 'elsewhere'), undefined].map((job) =>
    spawn('sleep', ['300'], {
      stdio: 'ignore',
      env: { PATH: process.env.PATH, ...(job && { MULTI_AGENT_JOB: job }) },
    }),
  );
  world.atEnd(() => {
    for (const child of bystanders) child.kill('SIGKILL');
    endEverything(state);
    rmSync(top, { recursive: true, force: true, maxRetries: 3 });
  });

  function start(words: readonly string[], fault?: Fault): Running {
    const { command } = builtPrograms();
    const child = spawn(process.execPath, [command, ...words], {
      cwd: project,
      env: { ...env, ...(fault && brokenEnvironment(fault, counts)) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const late = setTimeout(() => child.kill('SIGABRT'), PATIENCE_MS);
    const closed = new Promise<[number | null, NodeJS.Signals | null]>((settle, fail) => {
      child.once('error', fail).once('close', (code, signal) => settle([code, signal]));
    });
    const ended = Promise.all([closed, text(child.stdout), text(child.stderr)]).then(
      ([[code, signal], stdout, stderr]) => {
        clearTimeout(late);
        if (signal === 'SIGABRT') throw new Error(`${words.join(' ')} hangs: ${stdout}${stderr}`);
        return { code, signal, stdout, stderr };
      },
    );
    return { process: child, ended };
  }

  return {
    top,
    project,
    jobs,
    sockets: join(state, 'pi-multi-agent/sockets'),
    conversations,
    outside,
    foreign,
    counts,
    bystanders,
    start,
    call: (words, fault) => start(words, fault).ended,
  };
}

function brokenEnvironment({ program, plan }: Fault, counts: string): NodeJS.ProcessEnv {
  const broken: Broken = { program: `${program}.mjs`, plan, counts };
  const { broken: preload } = builtPrograms();
  return { NODE_OPTIONS: `--import=${pathToFileURL(preload)}`, JOB_FAULT: JSON.stringify(broken) };
}
