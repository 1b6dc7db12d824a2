/** Asking and watching the owner of a run: its lock first, its socket then, so that nothing of a dead one is spoken to (R6). */
import { basename } from 'node:path';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { isHeld } from '../../lib/kernel-lock.ts';
import { askLine, type LineTarget, watchLines } from '../../lib/line-client.ts';
import { RunError } from '../errors.ts';
import { readState } from '../files.ts';
import { type RunDirectory, type RunsPlace, runLock } from '../places.ts';
import {
  MAX_LINE_BYTES,
  parseRunAnswer,
  parseRunNotice,
  RUN_PROTOCOL_VERSION,
  type RunAnswer,
  type RunNotice,
  type RunRequest,
} from '../protocol.ts';
import { runSocket } from './socket.ts';

/** A message waits for its receipt, which a busy agent may take long to give. */
const ANSWER_MS = 90_000;

/** A request, as callers write it. */
export type AskedRun = RunRequest extends infer R ? (R extends unknown ? Omit<R, 'version'> : never) : never;

/**
 * One request to the owner of a run, and its answer, which may be a refusal.
 *
 * @throws RunError `run-is-final` or `orphan` when nobody holds the run (nothing was sent then), `failed` when its owner does
 *   not answer, `timeout`
 */
export function askRun(
  place: RunsPlace,
  directory: RunDirectory,
  request: AskedRun,
  { clock = systemClock, timeoutMs = ANSWER_MS }: { clock?: Clock; timeoutMs?: number } = {},
): Promise<RunAnswer> {
  const id = basename(directory);
  return askLine(target(place, directory), {
    request: { version: RUN_PROTOCOL_VERSION, ...request },
    parse: parseRunAnswer,
    mustLive: () => mustBeOwned(directory, id),
    silent: (reason) =>
      new RunError('failed', `the owner of run ${id} does not answer: ${reason}`, {
        hint: 'it may be just starting or ending: try again',
      }),
    late: () =>
      new RunError('timeout', `the owner of run ${id} has not answered within ${timeoutMs / 1_000} s`, {
        hint: `multi-agent runs show ${id}`,
      }),
    timeoutMs,
    clock,
  });
}

async function mustBeOwned(directory: RunDirectory, id: string): Promise<void> {
  if (isHeld(runLock(directory))) return;
  const state = await readState(directory);
  if (state.kind === 'known' && state.value.terminal)
    throw new RunError('run-is-final', `run ${id} has ended`, {
      hint: `multi-agent runs show ${id} shows how`,
    });
  throw new RunError('orphan', `run ${id} has no owner any more`, {
    hint: `multi-agent runs take-ownership ${id} --continue goes on with it`,
  });
}

function target(place: RunsPlace, directory: RunDirectory): LineTarget {
  return { place: runSocket(place, directory), maxLineBytes: MAX_LINE_BYTES };
}

/**
 * Hears of every change of a run's files until its owner lets go of the connection: at the run's end, or when it dies.
 *
 * @returns false when there was no connection at all
 */
export function watchRun(
  place: RunsPlace,
  directory: RunDirectory,
  onNotice: (notice: RunNotice) => void,
  signal: AbortSignal,
): Promise<boolean> {
  const onValue = (value: unknown): boolean => {
    const notice = parseRunNotice(value);
    if (notice === undefined) return parseRunAnswer(value)?.ok === true;
    onNotice(notice);
    return false;
  };
  return watchLines(
    target(place, directory),
    { version: RUN_PROTOCOL_VERSION, op: 'watch' },
    onValue,
    signal,
  );
}
