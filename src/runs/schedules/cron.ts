/**
 * Cron expressions as times of a wall clock that no zone moves (R10): zone-time.ts makes instants of them. cron-parser is
 * asked in UTC only. In zones it loses what falls into Lord Howe's half-hour gap, and finds nothing at all after that
 * zone's repeated half hour.
 */
import { messageOf, UsageError } from '../../lib/errors.ts';

const MOST_CHARACTERS = 256;
const ALPHABET = /^[0-9a-z*,/#?\- ]+$/i;
/** What Jenkins spreads by chance: every process would have times of its own. */
const SPREAD = /(?:^|[\s,])h(?:$|[\s,/(])/i;
/** Those that every cron has. */
const NAMED: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** An expression that cannot be understood, or never comes. */
export class CronError extends UsageError {
  constructor(expression: string, reason: string) {
    super(`${JSON.stringify(expression.slice(0, 100))} is no cron expression: ${reason}`, {
      hint: 'five fields: minute hour day-of-month month day-of-week, such as "30 7 * * 1-5"; or @daily',
    });
  }
}

export interface Cron {
  /** Its minute or hour begins with `*`: it means an interval, and no fixed times of a day. */
  readonly interval: boolean;
  /**
   * All times after one, in order; both as milliseconds since 1970 of a clock on the wall. It ends where there are no more.
   */
  after(wall: number): Generator<number, void, undefined>;
}

type Parser = typeof import('./cron-library.ts')['CronExpressionParser'];

/** @throws CronError */
export async function parseCron(given: string): Promise<Cron> {
  const fields = fieldsOf(given);
  // Loaded only where schedules are: it brings a calendar of its own.
  const { CronExpressionParser } = await import('./cron-library.ts');
  const parse = (wall: number) => parsed(CronExpressionParser, given, fields, wall);
  parse(0);
  const [minute = '', hour = ''] = fields.split(' ');
  return {
    interval: minute.startsWith('*') || hour.startsWith('*'),
    *after(wall) {
      const times = parse(wall);
      for (;;) {
        const time = nextOf(times);
        if (time === undefined) return;
        yield time;
      }
    },
  };
}

function fieldsOf(given: string): string {
  const text = given.trim();
  if (given.length > MOST_CHARACTERS)
    throw new CronError(given, `it is longer than ${MOST_CHARACTERS} characters`);
  const fields = (NAMED[text.toLowerCase()] ?? text.toUpperCase()).split(/\s+/).join(' ');
  const count = fields.split(' ').length;
  if (count !== 5) throw new CronError(given, `it has ${fields === '' ? 0 : count} fields instead of 5`);
  if (!ALPHABET.test(fields)) throw new CronError(given, 'it has characters that no field knows');
  if (SPREAD.test(fields)) throw new CronError(given, '"H" would be another time for every process');
  return fields;
}

function parsed(parser: Parser, given: string, fields: string, wall: number) {
  try {
    return parser.parse(fields, { tz: 'UTC', currentDate: new Date(wall) });
  } catch (error) {
    throw new CronError(given, messageOf(error));
  }
}

/** The parser gives up after 10,000 steps, which is how it says that there is none. */
function nextOf(times: ReturnType<typeof parsed>): number | undefined {
  try {
    const time = times.next().getTime();
    return Number.isFinite(time) ? time : undefined;
  } catch {
    return undefined;
  }
}
