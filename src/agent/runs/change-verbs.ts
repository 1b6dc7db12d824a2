import type { Command } from 'commander';
import { runExamples } from './examples.ts';
import { RUN } from './look-verbs.ts';
import { retryOf } from './values.ts';

const FORCE_OTHERS = "also of a run that is another's, or nobody's, as far as that is allowed";

/** `message cancel cleanup take-ownership sweep` (R6, R7, R9): what needs the run to be the caller's. */
export function addRunChangeVerbs(runs: Command): void {
  runs
    .command('message')
    .argument('<run>', RUN)
    .argument('<step>', 'id of a step')
    .argument('[text...]', 'the text; - reads standard input')
    .description('tell a step something; prints: delivered, queued, or kept until it begins')
    .option('--prompt <text>', 'the text, whatever it begins with')
    .option('--file <file>', 'the text from a file; - is standard input')
    .option('--force', FORCE_OTHERS)
    .option('--json', 'print JSON')
    .addHelpText('after', runExamples('message 20260131 build "leave the old API alone"'))
    .action(async (run: string, step: string, words: string[], options: object) => {
      process.exitCode = await (await import('./message.ts')).message(run, step, words, options);
    });
  runs
    .command('cancel')
    .argument('<run>', RUN)
    .description('end a run: what has not begun never will, what runs is ended')
    .option('--step <step>', 'only this step')
    .option('--force', FORCE_OTHERS)
    .option('--json', 'print JSON')
    .addHelpText('after', runExamples('cancel 20260131', 'cancel 20260131 --step build'))
    .action(async (run: string, options: object) => {
      process.exitCode = await (await import('./cancel.ts')).cancel(run, options);
    });
  runs
    .command('cleanup')
    .argument('<run>', RUN)
    .description('remove a run that has ended, its worktrees first')
    .option('--worktrees-only', 'keep all else of it')
    .option('--force', `${FORCE_OTHERS}; what is damaged, and worktrees with changes that are nowhere else`)
    .option('--json', 'print JSON')
    .addHelpText('after', runExamples('cleanup 20260131', 'cleanup 20260131 --worktrees-only'))
    .action(async (run: string, options: object) => {
      process.exitCode = await (await import('./cleanup.ts')).cleanup(run, options);
    });
  runs
    .command('take-ownership')
    .argument('<run>', RUN)
    .description('make a run yours whose owner is gone; never one that has an owner')
    .option('--continue', 'and finish its graph: what is done is kept, what still runs is followed')
    .option(
      '--retry <when>',
      'a step whose job has died is run once more, or has failed: died, none',
      retryOf,
    )
    .option('--force', 'also when somebody else has taken it before and does not run it')
    .option('--json', 'print JSON')
    .addHelpText('after', runExamples('take-ownership 20260131', 'take-ownership 20260131 --continue'))
    .action(async (run: string, options: object) => {
      process.exitCode = await (await import('./take-ownership.ts')).takeOwnership(run, options);
    });
  runs
    .command('sweep')
    .description('remove runs whose time is over, of every project, and say why the others stay')
    .option('--dry-run', 'change nothing and say what would be done')
    .option('--json', 'print JSON')
    .addHelpText('after', runExamples('sweep --dry-run', 'sweep'))
    .action(async (options: object) => {
      process.exitCode = await (await import('./sweep.ts')).sweep(options);
    });
}
