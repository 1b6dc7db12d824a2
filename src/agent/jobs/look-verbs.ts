import type { Command } from 'commander';
import { examples } from './examples.ts';
import { countOf, durationOf, statusesOf } from './values.ts';

/** `wait status list peek output usage profiles` (J6). */
export function addLookVerbs(program: Command): void {
  program
    .command('wait')
    .argument('[job...]', 'jobs (default: all that run; of an agent, those that it started)')
    .description('wait until jobs have ended; 0: all are done, 1: one is not, 3: the time was over first')
    .option('--any', 'until one of them has ended')
    .option('--timeout <duration>', 'no longer than this; changes nothing', durationOf)
    .option('--json', 'print JSON')
    .addHelpText('after', examples('wait tests', 'wait --any --timeout 10m tests docs'))
    .action(async (jobs: string[], options: object) => {
      process.exitCode = await (await import('./wait.ts')).wait(jobs, options);
    });
  program
    .command('status')
    .argument('[job]', 'a job (default: all that run)')
    .description('print all about a job')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('status tests', 'status tests --json'))
    .action(async (job: string | undefined, options: object) => {
      process.exitCode = await (await import('./status.ts')).status(job, options);
    });
  program
    .command('list')
    .description('list the jobs of this project, the last started first')
    .option('--all-projects', 'those of every project')
    .option('--status <list>', 'only these, such as running,waiting', statusesOf)
    .option('--tree', 'each below the one that started it')
    .option('--watch', 'again at every change, until Ctrl-C')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('list', 'list --status failed,died', 'list --tree --watch'))
    .action(async (options: object) => {
      process.exitCode = await (await import('./list.ts')).list(options);
    });
  program
    .command('peek')
    .argument('<job>', 'a job')
    .description('print what a job does: its tools, texts and errors, one line each')
    .option('-n, --lines <n>', 'so many of the last lines (default: 20)', countOf)
    .option('--follow', 'and those that come, until the run ends')
    .option('--json', 'print JSON; with --follow one object a line')
    .addHelpText('after', examples('peek tests', 'peek tests -n 100', 'peek tests --follow'))
    .action(async (job: string, options: object) => {
      process.exitCode = await (await import('./peek.ts')).peek(job, options);
    });
  program
    .command('output')
    .argument('<job>', 'a job that has ended')
    .description('print the result of a job')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('output tests', 'output tests > result.md'))
    .action(async (job: string, options: object) => {
      process.exitCode = await (await import('./output.ts')).output(job, options);
    });
  program
    .command('usage')
    .argument('<job>', 'a job')
    .description('print the tokens and the cost of a job, over all its runs')
    .option('--tree', 'and of all below it')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('usage tests --tree'))
    .action(async (job: string, options: object) => {
      process.exitCode = await (await import('./usage.ts')).usage(job, options);
    });
  program
    .command('profiles')
    .description('list the profiles that a job can be started with')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('profiles'))
    .action(async (options: object) => {
      process.exitCode = await (await import('./profiles.ts')).profiles(options);
    });
}
