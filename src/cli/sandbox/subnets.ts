import type { Config } from '../config/index.ts';

/** A network holds up to 61 sandboxes. */
const PREFIX_LENGTH = 26;

interface Range {
  first: number;
  last: number;
}

/** The /26 subnets of the pool that overlap none of the given ones, in CIDR form, lowest first. */
export function* subnetsOf(pool: Config['NETWORK_POOL'], taken: readonly string[]): Generator<string> {
  const busy = taken.map(rangeOf).filter((range) => range !== undefined);
  const { first, last } = rangeFrom(numberOf(pool.address), pool.prefixLength);
  const step = 2 ** (32 - PREFIX_LENGTH);
  for (let start = first; start + step - 1 <= last; start += step) {
    const end = start + step - 1;
    if (busy.every((range) => range.last < start || range.first > end)) {
      yield `${addressOf(start)}/${PREFIX_LENGTH}`;
    }
  }
}

function rangeOf(cidr: string): Range | undefined {
  const match = /^(\d+\.\d+\.\d+\.\d+)\/(\d+)$/.exec(cidr);
  return match?.[1] === undefined ? undefined : rangeFrom(numberOf(match[1]), Number(match[2]));
}

function rangeFrom(address: number, prefixLength: number): Range {
  const size = 2 ** (32 - prefixLength);
  const first = Math.floor(address / size) * size;
  return { first, last: first + size - 1 };
}

function numberOf(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

function addressOf(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
}
