import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../../src/lib/errors.ts';
import { checkTiming, nextInstants } from '../../../../src/runs/index.ts';

/** `03:30 +02:00`: what the clock on the wall shows at an instant. */
function shown(instant: Date, tz: string): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: tz,
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'longOffset',
  });
  const part = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, value]));
  return `${part.month}-${part.day} ${part.hour}:${part.minute} ${part.timeZoneName?.replace('GMT', '')}`;
}

async function times(cron: string, tz: string, from: string, count: number): Promise<string[]> {
  return (await nextInstants({ cron, tz }, new Date(from), count)).map((instant) => shown(instant, tz));
}

const docs = readFileSync(new URL('../../../../docs/schedules.md', import.meta.url), 'utf8');

/** A moment shortly before each clock of the table changes. */
const BEFORE: Readonly<Record<string, string>> = {
  'Europe/Berlin, 29 March 2026': '2026-03-29T00:15:00Z',
  'America/New_York, 8 March 2026': '2026-03-08T06:15:00Z',
  'Australia/Lord_Howe, 4 October 2026': '2026-10-03T14:45:00Z',
  'Europe/Berlin, 25 October 2026': '2026-10-24T23:45:00Z',
  'America/New_York, 1 November 2026': '2026-11-01T04:45:00Z',
  'Australia/Lord_Howe, 5 April 2026': '2026-04-04T14:15:00Z',
};

/** The rows of the table: zone, what its clock does, expression, what is due. */
const rows = docs
  .slice(docs.indexOf('| zone '))
  .split('\n\n')[0]
  ?.split('\n')
  .slice(2)
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  );

describe('where clocks change (R10)', () => {
  it('R10: docs/schedules.md has five expressions for each change', () => {
    expect(rows).toHaveLength(5 * Object.keys(BEFORE).length);
  });

  it.each(rows ?? [])('R10: %s, %s: "%s"', async (zone = '', change = '', cron = '', due = '') => {
    const expected = due.split(', ');
    const from = BEFORE[`${zone}, ${change.split(':')[0]}`] ?? '';
    expect(await times(cron, zone, from, expected.length)).toEqual(expected);
  });
});

describe('cron expressions (R10)', () => {
  it.each([
    ['@daily', '2026-12-02T00:00:00.000Z'],
    ['@hourly', '2026-12-01T13:00:00.000Z'],
    ['30 7 * * mon-fri', '2026-12-02T07:30:00.000Z'],
    // Either of them, as every cron has it.
    ['0 0 13 * 5', '2026-12-04T00:00:00.000Z'],
    ['0 0 29 2 *', '2028-02-29T00:00:00.000Z'],
    ['0 0 L * *', '2026-12-31T00:00:00.000Z'],
  ])('R10: "%s" is next due at %s', async (cron, expected) => {
    const [next] = await nextInstants({ cron, tz: 'UTC' }, new Date('2026-12-01T12:00:00Z'), 1);
    expect(next?.toISOString()).toBe(expected);
  });

  it.each([
    ['', 'it has 0 fields instead of 5'],
    ['* * * *', 'it has 4 fields'],
    ['* * * * * *', 'it has 6 fields'],
    ['@reboot', 'it has 1 fields'],
    ['60 * * * *', '60'],
    ['H 3 * * *', '"H" would be another time for every process'],
    ['0 0 30 2 *', ''],
    ['5 * * * $(date)', 'characters'],
    ['1'.repeat(10_000), 'longer than 256'],
  ])('R10: "%s" is refused in one line', async (cron, reason) => {
    const refused = checkTiming({ cron, tz: 'UTC' }, new Date());
    await expect(refused).rejects.toThrow(UsageError);
    await expect(refused).rejects.toThrow(reason);
  });

  it.each(['Mars/Olympus', '', '../etc/passwd', '+25:00'])('R10: "%s" is no zone', async (tz) => {
    await expect(checkTiming({ cron: '@daily', tz }, new Date())).rejects.toThrow('is no time zone');
  });

  it('R10: whatever is written as an expression is understood or refused, and never runs on', async () => {
    const field = fc.oneof(
      fc.constantFrom(
        '*',
        '?',
        'L',
        '*/7',
        '1-5',
        '5-1',
        '0',
        '31',
        '59',
        'mon',
        'feb',
        '2#2',
        '5L',
        '30-29/3',
      ),
      fc.stringMatching(/^[0-9*,/#?LWa-z-]{1,8}$/),
    );
    const expression = fc.oneof(
      fc.array(field, { minLength: 5, maxLength: 5 }).map((fields) => fields.join(' ')),
      fc.string({ maxLength: 300 }),
    );
    await fc.assert(
      fc.asyncProperty(
        expression,
        fc.constantFrom('UTC', 'Europe/Berlin', 'Australia/Lord_Howe'),
        async (cron, tz) => {
          const from = new Date('2026-03-28T12:34:56Z');
          try {
            const found = await nextInstants({ cron, tz }, from, 3);
            let before = from;
            for (const instant of found) {
              expect(instant.getTime()).toBeGreaterThan(before.getTime());
              before = instant;
            }
          } catch (error) {
            expect(error).toBeInstanceOf(UsageError);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('R10: instants are the same from wherever one begins to count', async () => {
    const timing = { cron: '20,50 0-4 * * *', tz: 'Australia/Lord_Howe' };
    const all = await nextInstants(timing, new Date('2026-10-03T00:00:00Z'), 30);
    for (const [index, instant] of all.entries()) {
      const [next] = await nextInstants(timing, instant, 1);
      expect(next).toEqual(all[index + 1] ?? next);
    }
  });
});
