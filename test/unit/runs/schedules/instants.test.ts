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

/** The table of docs/schedules.md, a cell each. */
const FORWARD = {
  // 02:00 becomes 03:00 on 29 March.
  'Europe/Berlin': {
    from: '2026-03-29T00:15:00Z',
    '30 2 * * *': ['03-29 03:00 +02:00', '03-30 02:30 +02:00'],
    '0 2 * * *': ['03-29 03:00 +02:00', '03-30 02:00 +02:00'],
    '0,30 2,3 * * *': ['03-29 03:00 +02:00', '03-29 03:30 +02:00'],
    '*/30 * * * *': ['03-29 01:30 +01:00', '03-29 03:00 +02:00', '03-29 03:30 +02:00'],
    '15 * * * *': ['03-29 03:15 +02:00', '03-29 04:15 +02:00'],
  },
  // 02:00 becomes 03:00 on 8 March.
  'America/New_York': {
    from: '2026-03-08T06:15:00Z',
    '30 2 * * *': ['03-08 03:00 -04:00', '03-09 02:30 -04:00'],
    '0 2 * * *': ['03-08 03:00 -04:00', '03-09 02:00 -04:00'],
    '0,30 2,3 * * *': ['03-08 03:00 -04:00', '03-08 03:30 -04:00'],
    '*/30 * * * *': ['03-08 01:30 -05:00', '03-08 03:00 -04:00', '03-08 03:30 -04:00'],
    '15 * * * *': ['03-08 03:15 -04:00', '03-08 04:15 -04:00'],
  },
  // 02:00 becomes 02:30 on 4 October.
  'Australia/Lord_Howe': {
    from: '2026-10-03T14:45:00Z',
    '30 2 * * *': ['10-04 02:30 +11:00', '10-05 02:30 +11:00'],
    '0 2 * * *': ['10-04 02:30 +11:00', '10-05 02:00 +11:00'],
    '0,30 2,3 * * *': ['10-04 02:30 +11:00', '10-04 03:00 +11:00'],
    '*/30 * * * *': ['10-04 01:30 +10:30', '10-04 02:30 +11:00', '10-04 03:00 +11:00'],
    '15 * * * *': ['10-04 03:15 +11:00', '10-04 04:15 +11:00'],
  },
} as const;

const BACK = {
  // 03:00 becomes 02:00 on 25 October.
  'Europe/Berlin': {
    from: '2026-10-24T23:45:00Z',
    '30 2 * * *': ['10-25 02:30 +02:00', '10-26 02:30 +01:00'],
    '0 2 * * *': ['10-25 02:00 +02:00', '10-26 02:00 +01:00'],
    '0,30 2,3 * * *': ['10-25 02:00 +02:00', '10-25 02:30 +02:00', '10-25 03:00 +01:00'],
    '*/30 * * * *': ['10-25 02:00 +02:00', '10-25 02:30 +02:00', '10-25 02:00 +01:00', '10-25 02:30 +01:00'],
    '15 * * * *': ['10-25 02:15 +02:00', '10-25 02:15 +01:00', '10-25 03:15 +01:00'],
  },
  // 02:00 becomes 01:00 on 1 November.
  'America/New_York': {
    from: '2026-11-01T04:45:00Z',
    '30 1 * * *': ['11-01 01:30 -04:00', '11-02 01:30 -05:00'],
    '0 2 * * *': ['11-01 02:00 -05:00', '11-02 02:00 -05:00'],
    '0,30 1,2 * * *': ['11-01 01:00 -04:00', '11-01 01:30 -04:00', '11-01 02:00 -05:00'],
    '*/30 * * * *': ['11-01 01:00 -04:00', '11-01 01:30 -04:00', '11-01 01:00 -05:00', '11-01 01:30 -05:00'],
    '15 * * * *': ['11-01 01:15 -04:00', '11-01 01:15 -05:00', '11-01 02:15 -05:00'],
  },
  // 02:00 becomes 01:30 on 5 April.
  'Australia/Lord_Howe': {
    from: '2026-04-04T14:15:00Z',
    '45 1 * * *': ['04-05 01:45 +11:00', '04-06 01:45 +10:30'],
    '0 2 * * *': ['04-05 02:00 +10:30', '04-06 02:00 +10:30'],
    '30,45 1,2 * * *': ['04-05 01:30 +11:00', '04-05 01:45 +11:00', '04-05 02:30 +10:30'],
    '*/30 * * * *': ['04-05 01:30 +11:00', '04-05 01:30 +10:30', '04-05 02:00 +10:30'],
    '15 * * * *': ['04-05 02:15 +10:30', '04-05 03:15 +10:30'],
  },
} as const;

const MOVES = { 'is set forward': FORWARD, 'is set back': BACK };
for (const [move, zones] of Object.entries(MOVES)) {
  for (const [tz, { from, ...crons }] of Object.entries(zones)) {
    const cells: [string, readonly string[]][] = Object.entries(crons);
    describe(`${tz}, when its clock ${move} (R10)`, () => {
      it.each(cells)('R10: "%s"', async (cron, expected) => {
        expect(await times(cron, tz, from, expected.length)).toEqual(expected);
      });
    });
  }
}

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
