/**
 * The part of `pi-sandbox sessions` that works on a domain's history (S13): by exec in a running sandbox on that
 * sandbox's own, and in a helper container on each domain's in turn. Arguments: the request as JSON, and in a helper
 * the directory of the Sessions and that of their locks. It prints its answer, one JSON object a line.
 */
import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { pathsOf, sandboxRoots } from '../agent-dir/index.ts';
import type { History } from '../history/index.ts';
import { messageOf, PiSandboxError } from '../lib/errors.ts';
import { HISTORY_LIMITS, historyRequest } from '../wire/index.ts';
import { answer, exported } from './history/answer.ts';

const PIECE = 64 * 1024;

function historyOf(sessions: string | undefined, locks: string | undefined): History {
  const roots = sandboxRoots(process.getuid?.() ?? 0);
  if (sessions === undefined || locks === undefined) {
    return { sessions: roots.sessions, locks: pathsOf(roots).sessionLocks };
  }
  return { sessions, locks, mountedAt: roots.sessions };
}

async function main(): Promise<void> {
  const [, , json = '', sessions, locks] = process.argv;
  const history = historyOf(sessions, locks);
  const request = historyRequest().parse(JSON.parse(json));
  if (request.verb === 'export' || request.verb === 'export-all') {
    return pipeline(await exported(history, request), process.stdout);
  }
  let waiting = '';
  for await (const line of toTheEnd(answer(history, request))) {
    waiting += lineOf(line);
    // Each write is a frame of the engine's, which costs more than the line in it.
    if (waiting.length < PIECE) continue;
    await print(waiting);
    waiting = '';
  }
  await print(waiting);
}

/** An answer's last line says that it is whole, or why it is not. */
async function* toTheEnd(lines: AsyncIterable<object>): AsyncGenerator<object> {
  try {
    yield* lines;
    yield { type: 'end' };
  } catch (error) {
    const known = error instanceof PiSandboxError ? error : undefined;
    yield {
      type: 'failed',
      error: error instanceof Error ? error.name : 'Error',
      message: messageOf(error),
      hint: known?.hint,
      exitCode: known?.exitCode ?? 1,
    };
  }
}

/** Hostile text is cut to what the host takes, so that one Session's name cannot make a whole list unreadable. */
function lineOf(line: object): string {
  const text = JSON.stringify(line, (_key, value: unknown) =>
    typeof value === 'string' && value.length > HISTORY_LIMITS.text
      ? `${value.slice(0, HISTORY_LIMITS.text - 1)}…`
      : value,
  );
  return `${text}\n`;
}

async function print(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}

main().catch((error: unknown) => {
  const hint = error instanceof PiSandboxError && error.hint !== undefined ? `\n${error.hint}` : '';
  process.stderr.write(`${messageOf(error)}${hint}\n`);
  process.exitCode = error instanceof PiSandboxError ? error.exitCode : 1;
});
