/** Work runs in large numbers, as src/work/README.md says of the disk: made by the room each would wait for the disk. */
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Runs of one tenant that nobody holds and that no retention keeps.
 *
 * @param root the work root, made where it is missing
 * @param files of each, beside its manifest
 */
export function makeWorkRuns(root: string, { runs, files }: { runs: number; files: number }): void {
  const lastUse = new Date(Date.now() - 90 * 86_400_000);
  for (let n = 0; n < runs; n++) {
    const runId = `r${n}`;
    const path = join(root, 'jobs/shop', runId);
    mkdirSync(join(path, '.leases'), { recursive: true });
    const manifest = {
      version: 1,
      category: 'jobs',
      tenant: 'shop',
      runId,
      createdAt: lastUse.toISOString(),
    };
    const file = join(path, '.pi-work-run.json');
    writeFileSync(file, `${JSON.stringify(manifest)}\n`);
    utimesSync(file, lastUse, lastUse);
    for (let count = 0; count < files; count++) writeFileSync(join(path, `f${count}`), 'x'.repeat(200));
  }
}
