/** A run that has ended, written by hand: for measures that share no code with the room. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const TIME = '2026-01-02T03:04:05.678Z';
const STEPS = ['plan', 'build', 'test', 'review'];

/** As docs/runs.md says it of the disk, with four steps. @param directory its name is the run's id */
export function writeEndedRun(directory: string, project: string): void {
  const runId = directory.slice(directory.lastIndexOf('/') + 1);
  mkdirSync(join(directory, 'artifacts'), { recursive: true, mode: 0o700 });
  const steps = STEPS.map((id, index) => ({
    ...{ id, profile: null, prompt: `${id} what was asked for, and say what you found`, cwd: null },
    ...{ needs: STEPS.slice(Math.max(0, index - 1), index), after: [], worktree: false },
    ...{ timeoutSeconds: 7_200, model: null, tools: null },
  }));
  const objective = 'plan, build, test and review what was asked for';
  const manifest = {
    ...{ schemaVersion: 1, runId, createdAt: TIME, invocationCwd: project, project, realProject: project },
    ...{ objective, graph: { objective, steps }, concurrency: 6, timeoutSeconds: 86_400 },
    ...{ terminalRetentionSeconds: 86_400, retry: 'died', maxCost: null, maxTokens: null },
    ...{ parentJob: null, depth: 0, maxDepth: 2, schedule: null, uid: 1_000, ownerPid: 42 },
    ...{ ownerSessionId: null, ownerStartedAt: TIME, ownerContainer: 'here', adopted: false },
  };
  const done = {
    ...{ status: 'succeeded', job: '/gone', attempts: 1, startedAt: TIME, endedAt: TIME, reason: null },
    ...{ cancelWanted: false, messages: 0, tokens: 1_234, cost: 0.01 },
  };
  const state = {
    ...{ schemaVersion: 1, runId, status: 'succeeded', updatedAt: TIME, terminal: true, terminalAt: TIME },
    ...{ reason: null, steps: Object.fromEntries(STEPS.map((id) => [id, done])) },
  };
  const files = {
    'manifest.json': JSON.stringify(manifest, undefined, 2),
    'status.json': JSON.stringify(state, undefined, 2),
    'worktrees.json': JSON.stringify({ schemaVersion: 1, worktrees: [] }),
    'events.jsonl': '',
    lock: '',
  };
  for (const [file, content] of Object.entries(files))
    writeFileSync(join(directory, file), content, { mode: 0o600 });
}
