/** What a run uses, added to what the job has used before (J2, J6, J16). */
import { messageOf, OperationError } from '../../lib/errors.ts';
import type { PiUsage } from '../../pi/index.ts';
import { writeSmall } from '../files.ts';
import type { JobDirectory } from '../places.ts';
import { addUsage, NO_USAGE, readUsage, type Usage, usageOf, usageText } from '../usage.ts';
import { latestFile } from './latest-file.ts';

export interface Spending {
  /** Of all runs of this job. */
  readonly usage: Usage;
  add(used: PiUsage): void;
  settled(): Promise<void>;
}

/** A file that cannot be read is told, and counting begins anew; it is replaced with the first message. */
export async function openSpending(
  directory: JobDirectory,
  onFailure: (error: unknown) => void,
): Promise<Spending> {
  let usage = await before(directory, onFailure);
  const file = latestFile((text) => writeSmall(directory, 'usage.json', text), onFailure);
  return {
    get usage() {
      return usage;
    },
    add(told) {
      const used = usageOf(told);
      if (used.tokens.total === 0 && used.cost === 0) return;
      usage = addUsage(usage, used);
      file.put(usageText(usage));
    },
    settled: () => file.settled(),
  };
}

async function before(directory: JobDirectory, onFailure: (error: unknown) => void): Promise<Usage> {
  try {
    const known = await readUsage(directory);
    if (known) return known;
    onFailure(new OperationError('usage.json cannot be read: what was used before this run is not counted'));
  } catch (error) {
    onFailure(new OperationError(`what was used before this run is not counted: ${messageOf(error)}`));
  }
  return NO_USAGE;
}
