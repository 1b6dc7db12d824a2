/** A job that has ended, written by hand: for tests and measures that share no code with the room. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Its words, and what it has said. */
export const ENDED = { prompt: 'the first prompt', output: 'the first output' };
const TIME = '2026-01-02T03:04:05.678Z';

/** As docs/jobs.md says it of the disk; with its conversation, of which only the header is there. */
export function writeEndedJob(directory: string, project: string, conversations: string): void {
  const name = directory.slice(directory.lastIndexOf('/') + 1);
  const session = join(conversations, `${name}.jsonl`);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  mkdirSync(conversations, { recursive: true, mode: 0o700 });
  const record = {
    ...{ version: 1, name, project, realProject: project, cwd: project, realCwd: project, profile: null },
    ...{ piArgs: [], parentJob: null, depth: 0, maxDepth: 2, runMode: 'background', timeoutSeconds: 60 },
    ...{ startedBySession: null, startedByRun: null, notifiedAt: null, createdAt: TIME, session },
    ...{ ask: false, maxCost: null, maxTokens: null },
  };
  const tokens = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, total: 2 };
  const files = {
    'job.json': JSON.stringify(record),
    'prompt.txt': ENDED.prompt,
    'append-prompt.md': 'You are an agent.\n',
    status: 'done\n',
    lock: '',
    started_at: `${TIME}\n`,
    ended_at: `${TIME}\n`,
    runs: '1\n',
    exit_code: '0\n',
    'output.txt': ENDED.output,
    model: 'fake/fake-1\n',
    reason: 'done\n',
    'progress.log': `${TIME} run 1 begins: ${ENDED.prompt}\n${TIME} run ends: done\n`,
    'usage.json': JSON.stringify({ version: 1, tokens, cost: 0 }),
  };
  for (const [file, content] of Object.entries(files)) {
    writeFileSync(join(directory, file), content, { mode: 0o600 });
  }
  const id = `0000000${name.length}-0000-4000-8000-000000000000`;
  const lines = [{ type: 'session', version: 3, id, timestamp: TIME, cwd: project }];
  writeFileSync(session, lines.map((line) => `${JSON.stringify(line)}\n`).join(''), { mode: 0o600 });
}
