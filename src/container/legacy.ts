/**
 * The program of the helper container that works on the history from before domains had their own (S12, S13). It runs as
 * root with a few capabilities on the shared volume and one domain's, and on nothing else. The request is its
 * argument; progress and result go to standard output, one JSON value a line.
 */
import { hostname } from 'node:os';
import {
  clearLegacyStore,
  type LegacyMessage,
  LegacyRequest,
  type MigrationProgress,
  migrateLegacy,
  surveyLegacy,
} from '../history/index.ts';
import { messageOf } from '../lib/errors.ts';

/** Milliseconds between two words about the progress. */
const PROGRESS_MS = 200;

function say(message: LegacyMessage): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function sayNowAndThen(): (progress: MigrationProgress) => void {
  // What is done in a second needs no word.
  let last = performance.now() + 1_000 - PROGRESS_MS;
  return (progress) => {
    const now = performance.now();
    if (progress.step === 'moving' && now - last < PROGRESS_MS) return;
    last = now;
    say(progress);
  };
}

async function serve(request: LegacyRequest): Promise<void> {
  const { verb, sharedRoot, table, domains = {}, all, waitMs } = request;
  const holder = {
    pid: process.pid,
    host: hostname(),
    startedAt: new Date().toISOString(),
    what: `${verb} of old history`,
  };
  const needs = { sharedRoot, table, holder, ...(waitMs === undefined ? {} : { waitMs }) };
  switch (verb) {
    case 'status':
      return say({ step: 'status', content: surveyLegacy(needs) });
    case 'clear':
      return say({ step: 'cleared', report: await clearLegacyStore({ ...needs, all: all === true }) });
    case 'migrate': {
      const onProgress = sayNowAndThen();
      const report = await migrateLegacy({ ...needs, domains, onProgress, signal: stopSignal() });
      return say({ step: 'migrated', report });
    }
  }
}

/** Asked to end, it brings what it has begun to its end and says so. */
function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => controller.abort());
  return controller.signal;
}

async function main(): Promise<void> {
  // Whoever asked may be gone; what was begun is finished.
  process.stdout.on('error', () => undefined);
  const request = LegacyRequest.safeParse(JSON.parse(process.argv[2] ?? 'null'));
  if (!request.success) throw new Error(`this request is not understood: ${request.error.message}`);
  await serve(request.data);
}

// Not an exit code: what cannot be sorted must not keep a start from going on, and who asked for more reads it here.
main().catch((error: unknown) => say({ step: 'failed', message: messageOf(error) }));
