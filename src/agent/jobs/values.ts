/** How the values of options are read; a wrong one is commander's to refuse. */
import { InvalidArgumentError } from 'commander';
import { FINAL_STATUSES, type JobStatus, LIVE_STATUSES, THINKING_LEVELS } from '../../jobs/index.ts';
import { parseDuration } from '../../lib/duration.ts';

/** A timer of Node's takes no more: 24 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Milliseconds that can be waited for. */
export function durationOf(text: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds !== undefined && milliseconds <= LONGEST_TIMER_MS) return milliseconds;
  throw new InvalidArgumentError('a duration of at most 24 days is expected, such as 30m, 90s or 0');
}

/** Milliseconds in the past. */
export function agesOf(text: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds !== undefined) return milliseconds;
  throw new InvalidArgumentError('an age is expected, such as 7d or 12h');
}

export function countOf(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('a number is expected');
  return Number(text);
}

/** More than nothing. */
export function amountOf(text: string): number {
  const amount = /^\d{1,12}(?:\.\d{1,6})?$/.test(text) ? Number(text) : 0;
  if (amount > 0) return amount;
  throw new InvalidArgumentError('a number greater than 0 is expected');
}

/** `200000`, `200k`, `2M`. */
export function tokensOf(text: string): number {
  const [, number, unit = ''] = /^(\d{1,12})([kKmM]?)$/.exec(text) ?? [];
  const tokens = Number(number ?? 0) * (unit === '' ? 1 : unit.toLowerCase() === 'k' ? 1_000 : 1_000_000);
  if (tokens > 0) return tokens;
  throw new InvalidArgumentError('a number of tokens is expected, such as 200000 or 200k');
}

export function thinkingOf(text: string): string {
  if (THINKING_LEVELS.some((level) => level === text)) return text;
  throw new InvalidArgumentError(`use one of ${THINKING_LEVELS.join(', ')}`);
}

const STATUSES: readonly JobStatus[] = [...LIVE_STATUSES, ...FINAL_STATUSES, 'died'];

/** One or several, with commas or given again. */
export function statusesOf(text: string, before: readonly JobStatus[] = []): JobStatus[] {
  const wanted = text.split(',').map((word) => {
    const status = STATUSES.find((known) => known === word.trim());
    if (status === undefined) throw new InvalidArgumentError(`use of ${STATUSES.join(', ')}`);
    return status;
  });
  return [...before, ...wanted];
}
