import type { Command } from 'commander';
import { runExamples } from './examples.ts';

/** How a run is named in every verb's help. */
export const RUN = 'id of a run, or any beginning of it';

/** `status` (R4, R8): reads, which need no lock and change nothing. */
export function addRunLookVerbs(runs: Command): void {
  runs
    .command('status')
    .argument('<run>', RUN)
    .description('print all about a run and its steps')
    .option('--json', 'print JSON')
    .addHelpText('after', runExamples('status 20260131', 'status 20260131t090000-k3m7qa --json'))
    .action(async (run: string, options: object) => {
      process.exitCode = await (await import('./status.ts')).status(run, options);
    });
}
