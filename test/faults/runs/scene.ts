/** A state directory of its own, a repository, and one run of twelve steps whose owner can be had broken. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { projectAt } from '../../../src/jobs/index.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { isHeld } from '../../../src/lib/kernel-lock.ts';
import {
  checkGraph,
  createRun,
  type Graph,
  LIMITS,
  launchOwner,
  type RunDirectory,
  type RunsPlace,
  runsPlace,
  takeOwnership,
} from '../../../src/runs/index.ts';
import { builtProgram } from '../../setup/built-program.ts';
import { expectThat } from '../commands.ts';
import type { FaultPlan } from '../history/broken-fs.ts';
import type { Broken } from '../jobs/broken-program.ts';
import { endEverything, kill, type Process, processesOf } from '../jobs/processes.ts';
import { writeRunStandIn } from './stand-in.ts';
import type { RunsWorld } from './world.ts';

/** What takes longer hangs. */
const PATIENCE_MS = 90_000;
const OWNER = 'multi-agent-owner.mjs';

export interface GraphStep {
  readonly id: string;
  readonly needs: readonly string[];
  readonly after: readonly string[];
  readonly worktree: boolean;
}

function step(
  id: string,
  needs: string[] = [],
  { after = [] as string[], worktree = false } = {},
): GraphStep {
  return { id, needs, after, worktree };
}

/** Wide at its top, narrow at its end, with worktrees on the way. */
export const STEPS: readonly GraphStep[] = [
  step('plan'),
  step('scan', [], { worktree: true }),
  step('read'),
  step('draft', ['plan']),
  step('build', ['plan', 'scan'], { worktree: true }),
  step('check', ['scan']),
  step('notes', ['read'], { after: ['plan'] }),
  step('test', ['draft', 'build'], { worktree: true }),
  step('audit', ['build', 'check']),
  step('docs', ['notes'], { worktree: true }),
  step('review', ['test', 'audit']),
  step('report', ['docs', 'review'], { after: ['draft'] }),
];

export interface RunScene {
  readonly top: string;
  readonly state: string;
  /** Holds the directories of the steps' jobs. */
  readonly jobs: string;
  readonly project: string;
  readonly place: RunsPlace;
  /** The names of jobs, a line for each prompt that was done. */
  readonly done: string;
  /** One line for each broken owner that ended: how many calls it made. */
  readonly counts: string;
  /** Makes the run and starts its owner. */
  start(plan?: FaultPlan): Promise<RunDirectory>;
  /** Takes it as an orphan, and goes on with it. */
  goOn(run: RunDirectory, plan?: FaultPlan): Promise<void>;
  /** Waits until its owner is gone. */
  ownerless(run: RunDirectory): Promise<void>;
  /** Ends processes of the scene at once; how many there were. */
  kill(which: 'owner' | 'owner and runners' | 'everything'): number;
}

let programs: { owner: string; broken: string } | undefined;

function builtPrograms(): { owner: string; broken: string } {
  programs ??= {
    owner: builtProgram('src/agent/multi-agent-owner.ts', [
      'src/agent/multi-agent-runner.ts',
      'src/agent/profiles',
    ]),
    broken: builtProgram('test/faults/jobs/broken-program.ts'),
  };
  return programs;
}

export interface RunSceneOptions {
  /** Writes the command `pi`, and into the agent directory what that one needs; default a stand-in. */
  readonly pi?: (command: string, agent: string, done: string) => void;
}

export function makeRunScene(world: RunsWorld, options: RunSceneOptions = {}): RunScene {
  const top = realpathSync(mkdtempSync(join(world.directory, 's-')));
  const at = (...names: string[]): string => {
    const path = join(top, ...names);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return path;
  };
  const [project, agent, bin, state] = [at('project'), at('agent'), at('bin'), at('state')];
  const [done, counts] = [join(top, 'done'), join(top, 'counts')];
  for (const list of [done, counts]) writeFileSync(list, '');
  const pi = join(bin, 'pi');
  if (options.pi) options.pi(pi, agent, done);
  else writeRunStandIn(pi, done);
  makeRepository(project, at('home'));
  const env: NodeJS.ProcessEnv = {
    PATH: `${bin}:${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
    HOME: at('home'),
    LANG: 'C.UTF-8',
    XDG_STATE_HOME: state,
    PI_CODING_AGENT_DIR: agent,
    PI_OFFLINE: '1',
    PI_TELEMETRY: '0',
    PI_SKIP_VERSION_CHECK: '1',
  };
  world.atEnd(() => {
    endEverything(state);
    rmSync(top, { recursive: true, force: true, maxRetries: 3 });
  });
  const place = runsPlace(env, at('home'));
  const identity = { pid: process.pid, host: 'faults', uid: process.getuid?.() ?? 0 };
  const deps = { clock: systemClock, identity };
  const launch = (held: Parameters<typeof launchOwner>[0], plan?: FaultPlan): Promise<void> => {
    const owner = { command: process.execPath, args: [builtPrograms().owner] };
    return launchOwner(held, { env: { ...env, ...(plan && brokenEnvironment(plan, counts)) }, owner });
  };
  return {
    top,
    state,
    jobs: join(place.jobs.state, projectAt(project).folder, 'jobs'),
    project,
    place,
    done,
    counts,
    async start(plan) {
      const held = await createRun(
        place,
        {
          graph: graph(),
          project: projectAt(project),
          cwd: project,
          session: null,
          below: { parentJob: null, depth: 0, maxDepth: 2 },
          settings: {
            concurrency: 4,
            timeoutSeconds: LIMITS.runSeconds,
            terminalRetentionSeconds: LIMITS.retentionSeconds,
            retry: 'died',
            maxCost: null,
            maxTokens: null,
          },
          schedule: null,
        },
        deps,
      );
      await launch(held, plan);
      return held.directory;
    },
    async goOn(run, plan) {
      const held = await takeOwnership(place, run, { session: null, operator: true }, deps);
      await launch(held, plan);
    },
    async ownerless(run) {
      const until = Date.now() + PATIENCE_MS;
      while (isHeld(join(run, 'lock'))) {
        expectThat(Date.now() < until, `the owner of ${basename(run)} does not end`);
        await sleep(20);
      }
    },
    kill(which) {
      const found = processesOf(state).filter((one) => isMeant(one, which));
      return found.filter(({ pid }) => kill(pid)).length;
    },
  };
}

function isMeant({ words, job }: Process, which: 'owner' | 'owner and runners' | 'everything'): boolean {
  if (which === 'everything') return true;
  const names = words.map((word) => basename(word));
  if (job !== undefined) return false;
  return names.includes(OWNER) || (which !== 'owner' && names.includes('multi-agent-runner.mjs'));
}

function graph(): Graph {
  const steps = STEPS.map(({ id, needs, ...rest }) => ({
    ...rest,
    id,
    needs: [...needs],
    prompt: [`do ${id}`, ...needs.map((other) => `with \${steps.${other}.output}`)].join(', '),
  }));
  const checked = checkGraph({ objective: 'stay whole', steps });
  if ('objections' in checked) throw new Error(checked.objections.join('\n'));
  return checked.graph;
}

function makeRepository(project: string, home: string): void {
  const git = (...words: string[]): void =>
    void execFileSync('git', words, {
      cwd: project,
      stdio: 'ignore',
      env: { PATH: process.env.PATH, HOME: home, GIT_CONFIG_NOSYSTEM: '1' },
    });
  writeFileSync(join(project, 'README.md'), 'a project\n');
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('-c', 'user.name=A', '-c', 'user.email=a@example.com', 'commit', '-q', '-m', 'begin');
}

function brokenEnvironment(plan: FaultPlan, counts: string): NodeJS.ProcessEnv {
  const broken: Broken = { program: OWNER, plan, counts };
  const { broken: preload } = builtPrograms();
  return { NODE_OPTIONS: `--import=${pathToFileURL(preload)}`, JOB_FAULT: JSON.stringify(broken) };
}
