/** Between the clock on a wall somewhere and instants (R10). A wall time is written as the instant that has it in UTC. */
import { UsageError } from '../../lib/errors.ts';

const DAY_MS = 24 * 60 * 60_000;
const LONGEST_NAME = 100;
const SHAPE = /^[A-Za-z][A-Za-z0-9_+\-/]*$/;

/** A zone that this machine does not know. */
export class UnknownZoneError extends UsageError {
  constructor(zone: string) {
    super(`${JSON.stringify(zone.slice(0, LONGEST_NAME))} is no time zone`, {
      hint: 'use a name of the IANA list, such as Europe/Berlin, or UTC',
    });
  }
}

/** What a wall time is in a zone. */
export type WallTime =
  | { readonly kind: 'once'; readonly instant: number }
  /** The clock was set back: it comes again. */
  | { readonly kind: 'twice'; readonly instant: number; readonly again: number }
  /** The clock was set forward over it, at `instant`. */
  | { readonly kind: 'skipped'; readonly instant: number };

export interface Zone {
  wallAt(instant: number): number;
  instantOf(wall: number): WallTime;
  /** By how much the clock changes within a day of an instant, mostly 0. */
  changeNear(instant: number): number;
}

/** @throws UnknownZoneError */
export function zoneOf(name: string): Zone {
  const format = formatOf(name);
  const offsetAt = (instant: number): number => wallOf(format, instant) - Math.floor(instant / 1_000) * 1_000;
  /** No zone is a day from UTC, and none changes twice within two. */
  const around = (time: number): [number, number] => [offsetAt(time - DAY_MS), offsetAt(time + DAY_MS)];
  return {
    wallAt: (instant) => instant + offsetAt(instant),
    changeNear(instant) {
      const [before, after] = around(instant);
      return Math.abs(after - before);
    },
    instantOf(wall) {
      const [before, after] = around(wall);
      if (before === after) return { kind: 'once', instant: wall - before };
      const found = [wall - before, wall - after].filter((instant) => instant + offsetAt(instant) === wall);
      const [instant, again] = found.sort((a, b) => a - b);
      if (instant === undefined)
        return { kind: 'skipped', instant: changeOf(offsetAt, wall - after, wall - before) };
      return again === undefined ? { kind: 'once', instant } : { kind: 'twice', instant, again };
    },
  };
}

/** As the clock of a zone shows it: `2026-12-01T12:00:00+01:00`. @throws UnknownZoneError */
export function timeIn(tz: string, instant: Date): string {
  const wall = zoneOf(tz).wallAt(instant.getTime());
  const minutes = Math.round((wall - instant.getTime()) / 60_000);
  const two = (value: number): string => String(value).padStart(2, '0');
  const offset = `${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
  return `${new Date(wall).toISOString().slice(0, 19)}${minutes < 0 ? '-' : '+'}${offset}`;
}

/** The first instant with the later offset, to the second; both ends are whole seconds. */
function changeOf(offsetAt: (instant: number) => number, before: number, after: number): number {
  let [low, high] = [before, after];
  const late = offsetAt(high);
  while (high - low > 1_000) {
    const middle = low + Math.floor((high - low) / 2_000) * 1_000;
    if (offsetAt(middle) === late) high = middle;
    else low = middle;
  }
  return high;
}

function formatOf(name: string): Intl.DateTimeFormat {
  if (name.length > LONGEST_NAME || !SHAPE.test(name)) throw new UnknownZoneError(name);
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch (error) {
    if (error instanceof RangeError) throw new UnknownZoneError(name);
    throw error;
  }
}

function wallOf(format: Intl.DateTimeFormat, instant: number): number {
  const part: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
  for (const { type, value } of format.formatToParts(instant)) part[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}
