/** Modification times to the nanosecond: Node's own calls take seconds as floating point and lose the last digits. */
import { spawn } from 'node:child_process';
import { fstatSync, futimesSync } from 'node:fs';
import type { DirectoryHandle } from '../../lib/directory-handle.ts';

const CP = ['-L', '--attributes-only', '--preserve=timestamps', '-t'];
const NANOSECONDS = 1e9;

/**
 * Gives each copy the times of its source. A copy's name in `stage` is the number of its source's descriptor: so GNU cp
 * takes all of a batch in one call, each by its descriptor and not by a path. Where that does not work, as near as Node
 * can.
 */
export async function copyTimes(
  stage: DirectoryHandle,
  copies: readonly { source: number; copy: number }[],
): Promise<void> {
  const descriptors = stage.byPath ? undefined : stage.at('.').replace(/\/\d+\/\.$/, '');
  if (descriptors !== undefined && copies.length > 0) {
    await run('cp', [...CP, stage.at('.'), ...copies.map(({ source }) => `${descriptors}/${source}`)]);
  }
  for (const { source, copy } of copies) {
    const wanted = fstatSync(source, { bigint: true });
    if (fstatSync(copy, { bigint: true }).mtimeNs === wanted.mtimeNs) continue;
    futimesSync(copy, Number(wanted.atimeNs) / NANOSECONDS, Number(wanted.mtimeNs) / NANOSECONDS);
  }
}

/** Whatever comes of it: the result is looked at. */
function run(program: string, programArguments: readonly string[]): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn(program, programArguments, { stdio: 'ignore' });
    child.once('error', () => resolve());
    child.once('close', () => resolve());
  });
}
