/**
 * The kinds of value a configuration key can have: text in, a typed value out, or a message that says what is
 * allowed (S6). Each kind is one zod schema, so that the keys' table reads as a list of facts.
 */
import * as z from 'zod/mini';
import { redactor, safeForTerminal } from '../../lib/redact.ts';

const MiB = 1024 * 1024;
const UNITS: Record<string, number> = { b: 1, k: 1024, m: MiB, g: 1024 * MiB, t: 1024 * 1024 * MiB };

/** A schema that reads text with `parse`; the issue's message is `allowed`, a phrase that fits after "allowed:". */
export function textOf<T>(allowed: string, parse: (text: string) => T | undefined) {
  return z.pipe(
    z.string(),
    z.transform((text, context): T => {
      const value = parse(text.trim());
      if (value !== undefined) return value;
      context.issues.push({ code: 'custom', message: allowed, input: text });
      return z.NEVER;
    }),
  );
}

export const matching = (allowed: string, pattern: RegExp) =>
  textOf(allowed, (text) => (pattern.test(text) ? text : undefined));

export const oneOf = <const T extends string>(...values: readonly T[]) =>
  textOf(values.join(' or '), (text) => values.find((value) => value === text.toLowerCase()));

export const whole = (minimum: number, maximum: number, note = '') =>
  textOf(`a whole number from ${minimum} to ${maximum}${note}`, (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return value >= minimum && value <= maximum ? value : undefined;
  });

export const decimal = (minimum: number, maximum: number, note = '') =>
  textOf(`a number from ${minimum} to ${maximum}, decimals allowed${note}`, (text) => {
    const value = /^\d{1,12}(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN;
    return value >= minimum && value <= maximum ? value : undefined;
  });

export const flag = () =>
  textOf('true or false (also on/off, yes/no, 1/0)', (text) => {
    if (/^(true|on|yes|1)$/i.test(text)) return true;
    return /^(false|off|no|0)$/i.test(text) ? false : undefined;
  });

/** Bytes, with the binary units that `docker run --memory` takes. */
export const size = (minimum: number) =>
  textOf(
    `a size such as 512m or 4g (units b k m g t, powers of 1024), at least ${minimum / MiB}m`,
    (text) => {
      const [, digits, unit = 'b'] = /^(\d{1,15}(?:\.\d{1,6})?)([bkmgt]?)(?:i?b)?$/i.exec(text) ?? [];
      const factor = UNITS[unit.toLowerCase() || 'b'];
      if (digits === undefined || factor === undefined) return undefined;
      const bytes = Math.floor(Number(digits) * factor);
      return bytes >= minimum && Number.isSafeInteger(bytes) ? bytes : undefined;
    },
  );

/** Comma-separated; blanks around items and empty items are dropped, repeated ones kept once. */
export const list = (allowed: string, accept: (item: string) => boolean, maximum = 256) =>
  textOf(`a comma-separated list of ${allowed}`, (text) => {
    const items = [...new Set(text.split(',').map((item) => item.trim()))].filter((item) => item !== '');
    return items.length <= maximum && items.every(accept) ? items : undefined;
  });

/** An IPv4 range out of which each domain's network takes a /26 (S17). */
export interface NetworkPool {
  /** First address of the range. */
  readonly address: string;
  readonly prefixLength: number;
}

const PRIVATE_RANGES = [
  { base: 0x0a000000, bits: 8 },
  { base: 0x64400000, bits: 10 },
  { base: 0xac100000, bits: 12 },
  { base: 0xc0a80000, bits: 16 },
];

export const networkPool = () =>
  textOf('a private IPv4 range with its prefix length, /26 or larger, such as 10.213.0.0/16', parsePool);

function parsePool(text: string): NetworkPool | undefined {
  const [, address, length] = /^(\d{1,3}(?:\.\d{1,3}){3})\/(\d{1,2})$/.exec(text) ?? [];
  if (address === undefined || length === undefined) return undefined;
  const octets = address.split('.').map(Number);
  const prefixLength = Number(length);
  if (octets.some((octet) => octet > 255) || prefixLength > 26) return undefined;
  const base = octets.reduce((sum, octet) => sum * 256 + octet, 0);
  if (base % 2 ** (32 - prefixLength) !== 0) return undefined;
  const inside = PRIVATE_RANGES.some(
    (range) =>
      prefixLength >= range.bits &&
      Math.floor(base / 2 ** (32 - range.bits)) === range.base / 2 ** (32 - range.bits),
  );
  return inside ? { address, prefixLength } : undefined;
}

const hideKeys = redactor([]);

/** A value as a message may show it: shortened, on one line, without a password inside a URL and other known keys. */
export function shown(value: string, longest = 80): string {
  const clean = safeForTerminal(hideKeys(value.slice(0, 1_000)));
  return clean.length > longest ? `${clean.slice(0, longest - 3)}...` : clean;
}
