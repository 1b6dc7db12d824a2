/**
 * What all jobs of a state directory, so of a domain, spend in a day (J16). Each runner adds what its messages cost to one
 * small file a day, under a kernel lock; days are those of UTC. Nothing is kept while there is no limit.
 */
import { join } from 'node:path';
import * as z from 'zod/mini';
import { makeStateDirectory, writeFileAtomic } from '../../lib/atomic-file.ts';
import { readRegularFile } from '../../lib/bounded-read.ts';
import type { Clock } from '../../lib/clock.ts';
import { OperationError } from '../../lib/errors.ts';
import { takeLock } from '../../lib/kernel-lock.ts';
import type { JobsPlace } from '../places.ts';

const VERSION = 1;
const MAX_BYTES = 1_024;
/** Adding takes milliseconds; a hundred runners may do it at once. */
const LOCK_MS = 5_000;

let schema: ReturnType<typeof makeSchema> | undefined;

function makeSchema() {
  /** US dollars. */
  return z.object({ version: z.literal(VERSION), cost: z.number().check(z.gte(0)) });
}

/**
 * Adds to today's sum, and gives it.
 *
 * @throws FileError, LockTakenError; OperationError when what is there cannot be read, for then nobody knows the sum
 */
export async function spendToday({ state }: JobsPlace, clock: Clock, cost: number): Promise<number> {
  const directory = join(state, 'spending');
  await makeStateDirectory(directory);
  const path = join(directory, `${clock.now().toISOString().slice(0, 10)}.json`);
  const lock = await takeLock(join(directory, 'lock'), { waitMs: LOCK_MS, clock });
  try {
    const sum = (await readSum(path)) + cost;
    if (cost > 0)
      await writeFileAtomic(path, `${JSON.stringify({ version: VERSION, cost: sum })}\n`, { follow: false });
    return sum;
  } finally {
    lock.release();
  }
}

async function readSum(path: string): Promise<number> {
  const bytes = await readRegularFile(path, { maxBytes: MAX_BYTES });
  if (bytes === undefined) return 0;
  schema ??= makeSchema();
  try {
    const { data } = z.safeParse(schema, JSON.parse(bytes.toString('utf8')));
    if (data) return data.cost;
  } catch {
    // No JSON.
  }
  throw new OperationError(`${path} is not the sum of a day that this version knows`, {
    hint: 'move it away; what was spent today is then counted from 0',
  });
}
