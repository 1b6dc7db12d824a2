import type { Command } from 'commander';
import { LIMITS } from '../../runs/index.ts';
import { durationOf } from '../jobs/values.ts';
import { runExamples } from './examples.ts';
import { countBetween, runStatusesOf } from './values.ts';

/** How a run is named in every verb's help. */
export const RUN = 'id of a run, or any beginning of it';
const MOST_EVENTS = 10_000;
const seqOf = countBetween(0, Number.MAX_SAFE_INTEGER);

/** `list show status wait step-result events reattach` (R4, R8): reads, which need no lock and change nothing. */
export function addRunLookVerbs(runs: Command): void {
  addListings(runs);
  addOneRun(runs);
  addEvents(runs);
}

function addListings(runs: Command): void {
  runs
    .command('list')
    .description('list the runs of this project, the newest first')
    .option('--all-projects', 'those of every project')
    .option('--status <list>', 'only these, such as running,failed', runStatusesOf)
    .option('--limit <n>', `so many (default: ${LIMITS.rows})`, countBetween(1, LIMITS.mostRows))
    .option('--cursor <run>', 'only older ones than this: the "next" of the page before')
    .option('--json', 'print JSON')
    .addHelpText('after', runExamples('list', 'list --status running,queued --all-projects', 'list --json'))
    .action(async (options: object) => {
      process.exitCode = await (await import('./list.ts')).list(options);
    });
}

function addOneRun(runs: Command): void {
  runs
    .command('show')
    .argument('<run>', RUN)
    .description('draw the graph of a run, with state, time, tokens and cost of each step')
    .option('--follow', 'and again at every change, until it has ended')
    .option('--json', 'print JSON; with --follow one object a line')
    .addHelpText('after', runExamples('show 20260131', 'show 20260131t0900 --follow'))
    .action(async (run: string, options: object) => {
      process.exitCode = await (await import('./show.ts')).show(run, options);
    });
  runs
    .command('status')
    .argument('<run>', RUN)
    .description('print all about a run and its steps')
    .option('--json', 'print JSON')
    .addHelpText('after', runExamples('status 20260131', 'status 20260131t090000-k3m7qa --json'))
    .action(async (run: string, options: object) => {
      process.exitCode = await (await import('./status.ts')).status(run, options);
    });
  runs
    .command('wait')
    .argument('<run>', RUN)
    .description('wait until a run has ended; 0: it has succeeded, 1: it has not, 3: the time was over first')
    .option('--timeout <duration>', 'no longer than this; changes nothing', durationOf)
    .option('--json', 'print JSON')
    .addHelpText('after', runExamples('wait 20260131', 'wait 20260131 --timeout 1h --json'))
    .action(async (run: string, options: object) => {
      process.exitCode = await (await import('./wait.ts')).wait(run, options);
    });
  runs
    .command('step-result')
    .argument('<run>', RUN)
    .argument('<step>', 'id of a step')
    .description('print what a step has left')
    .option('--diff', 'what it has changed in its worktree, instead of its result')
    .option('--json', 'print JSON')
    .addHelpText('after', runExamples('step-result 20260131 review', 'step-result 20260131 build --diff'))
    .action(async (run: string, step: string, options: object) => {
      process.exitCode = await (await import('./step-result.ts')).stepResult(run, step, options);
    });
}

function addEvents(runs: Command): void {
  runs
    .command('events')
    .argument('<run>', RUN)
    .description('print what has happened to a run, one line each')
    .option('--after <seq>', 'only later ones than this number', seqOf)
    .option('--limit <n>', 'so many (default: 1,000)', countBetween(1, MOST_EVENTS))
    .option('--follow', 'and those that come, until it has ended')
    .option('--json', 'print JSON; with --follow one object a line')
    .addHelpText('after', runExamples('events 20260131', 'events 20260131 --after 12 --follow --json'))
    .action(async (run: string, options: object) => {
      process.exitCode = await (await import('./events.ts')).events(run, options);
    });
  runs
    .command('reattach')
    .argument('<run>', RUN)
    .description('print all that is kept of a run, whoever started it; changes nothing')
    .option('--follow', 'then its events, until it has ended')
    .option('--after <seq>', 'only later ones than this number', seqOf)
    .option('--json', 'print JSON; with --follow one object a line')
    .addHelpText('after', runExamples('reattach 20260131 --json', 'reattach 20260131 --follow'))
    .action(async (run: string, options: object) => {
      process.exitCode = await (await import('./reattach.ts')).reattach(run, options);
    });
}
