/** `usage.json`: what a job has used in all its runs (J2, J6). Children have their own. */
import * as z from 'zod/mini';
import type { PiUsage } from '../pi/index.ts';
import { readSmall } from './files.ts';
import type { JobDirectory } from './places.ts';

const VERSION = 1;

let schema: ReturnType<typeof makeSchema> | undefined;

function makeSchema() {
  const amount = z.number().check(z.gte(0));
  return z.object({
    version: z.literal(VERSION),
    tokens: z.object({
      input: amount,
      output: amount,
      cacheRead: amount,
      cacheWrite: amount,
      /** All four. */
      total: amount,
    }),
    /** US dollars. */
    cost: amount,
  });
}

export type Usage = Omit<z.infer<ReturnType<typeof makeSchema>>, 'version'>;
/** As it is kept. */
export type WrittenUsage = z.infer<ReturnType<typeof makeSchema>>;

export const NO_USAGE: Usage = {
  tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  cost: 0,
};

/** What a job has used so far; undefined where that cannot be read. @throws FileError, LimitError */
export async function readUsage(directory: JobDirectory): Promise<Usage | undefined> {
  const text = await readSmall(directory, 'usage.json');
  if (text === undefined) return NO_USAGE;
  try {
    return parseUsage(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** A usage that {@link Usage} was written of, wherever it was kept; undefined for anything else. */
export function parseUsage(value: unknown): Usage | undefined {
  schema ??= makeSchema();
  const { data } = z.safeParse(schema, value);
  return data && { tokens: data.tokens, cost: data.cost };
}

export function writtenUsage(usage: Usage): WrittenUsage {
  return { version: VERSION, ...usage };
}

export function usageText(usage: Usage): string {
  return JSON.stringify(writtenUsage(usage));
}

/** As pi tells it of one message. */
export function usageOf({ input, output, cacheRead, cacheWrite, cost }: PiUsage): Usage {
  const total = input + output + cacheRead + cacheWrite;
  return { tokens: { input, output, cacheRead, cacheWrite, total }, cost: cost?.total ?? 0 };
}

/** What `later` has more than `before`, never less than nothing. */
export function usageSince(before: Usage, later: Usage): Usage {
  const more = (a: number, b: number): number => Math.max(0, b - a);
  const [a, b] = [before.tokens, later.tokens];
  return {
    tokens: {
      input: more(a.input, b.input),
      output: more(a.output, b.output),
      cacheRead: more(a.cacheRead, b.cacheRead),
      cacheWrite: more(a.cacheWrite, b.cacheWrite),
      total: more(a.total, b.total),
    },
    cost: more(before.cost, later.cost),
  };
}

export function addUsage(one: Usage, other: Usage): Usage {
  const [a, b] = [one.tokens, other.tokens];
  return {
    tokens: {
      input: a.input + b.input,
      output: a.output + b.output,
      cacheRead: a.cacheRead + b.cacheRead,
      cacheWrite: a.cacheWrite + b.cacheWrite,
      total: a.total + b.total,
    },
    cost: one.cost + other.cost,
  };
}
