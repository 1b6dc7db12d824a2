/** A real repository, a real run, and its worktrees: for tests of R5. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectAt } from '../../src/jobs/index.ts';
import { systemClock } from '../../src/lib/clock.ts';
import {
  checkGraph,
  createRun,
  isRunId,
  isStepId,
  LIMITS,
  openJournal,
  openWorktrees,
  type RunId,
  runsPlace,
  type StepId,
  type Worktrees,
} from '../../src/runs/index.ts';

export interface WorktreeScene {
  /** With two files in one commit on `main`. */
  readonly repository: string;
  /** The run's directory. */
  readonly run: string;
  readonly runId: RunId;
  /** As a process does that takes the run up: all is read from the disk. */
  open(): Promise<Worktrees>;
  /** Git in a directory, by default the repository; what it prints. */
  git(words: readonly string[], cwd?: string): string;
  /** Words of git's and variables for whoever runs it elsewhere. */
  readonly env: NodeJS.ProcessEnv;
  close(): void;
}

export const STEP = stepId('implement');

export function stepId(text: string): StepId {
  if (!isStepId(text)) throw new Error(`${text} is no id of a step`);
  return text;
}

/** @param name of the repository's directory */
export async function worktreeScene(name = 'project'): Promise<WorktreeScene> {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'pi-worktrees-')));
  const repository = join(top, name);
  const { PATH } = process.env;
  const env = { PATH, HOME: top, GIT_CONFIG_NOSYSTEM: '1' };
  const git = (words: readonly string[], cwd = repository): string =>
    execFileSync('git', words, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  writeFileSync(
    join(top, '.gitconfig'),
    '[user]\nname = Ann\nemail = ann@example.org\n[init]\ndefaultBranch = main\n',
  );
  mkdirSync(join(repository, 'lib'), { recursive: true });
  writeFileSync(join(repository, 'readme.txt'), 'one\ntwo\n');
  writeFileSync(join(repository, 'lib', 'a.js'), 'a\n');
  writeFileSync(join(repository, '.gitignore'), '*.log\n');
  git(['init', '--quiet']);
  git(['add', '.']);
  git(['commit', '--quiet', '-m', 'begin']);
  const { directory, lock, manifest } = await createRun(
    runsPlace({ XDG_STATE_HOME: join(top, 'state') }, top),
    {
      graph: graph(),
      project: projectAt(repository),
      cwd: repository,
      session: null,
      below: { parentJob: null, depth: 0, maxDepth: 2 },
      settings: {
        concurrency: LIMITS.concurrency,
        timeoutSeconds: LIMITS.runSeconds,
        terminalRetentionSeconds: LIMITS.retentionSeconds,
        retry: 'died',
        maxCost: null,
        maxTokens: null,
      },
      schedule: null,
    },
    { clock: systemClock, identity: { pid: process.pid, host: 'here', uid: 1000 } },
  );
  const { runId } = manifest;
  if (!isRunId(runId)) throw new Error(`${runId} is no id of a run`);
  return {
    repository,
    run: directory,
    runId,
    git,
    env,
    async open() {
      const journal = await openJournal(directory, systemClock);
      return openWorktrees(directory, runId, { env, clock: systemClock, journal });
    },
    close() {
      lock.release();
      rmSync(top, { recursive: true, force: true });
    },
  };
}

function graph() {
  const checked = checkGraph({
    objective: 'try it',
    steps: [{ id: STEP, prompt: 'do it', worktree: true }],
  });
  if ('objections' in checked) throw new Error(checked.objections.join('\n'));
  return checked.graph;
}
