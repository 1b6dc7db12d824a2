import { type Command, InvalidArgumentError } from 'commander';
import { CATCH_UPS, OVERLAPS } from '../../runs/index.ts';
import { runExamples } from './examples.ts';
import type { AddOptions } from './schedule-add.ts';
import type { NextOptions } from './schedule-next.ts';
import { addRunSettings } from './setting-options.ts';
import { countUpTo } from './values.ts';

const MOST_INSTANTS = 1_000;

/** `schedule add list rm next` (R10). */
export function addScheduleVerbs(runs: Command): void {
  const schedule = runs.command('schedule').description('start runs by the clock').helpCommand(false);
  const add = schedule
    .command('add')
    .argument('<cron>', 'minute hour day-of-month month day-of-week, or @daily and the like')
    .argument('[graph]', 'a graph, as YAML or JSON (default: -, standard input)')
    .usage('<cron> --tz <zone> [options] -- <graph>')
    .description('keep a graph, and start a run of it whenever it is due')
    .requiredOption('--tz <zone>', 'the time zone of the expression, such as Europe/Berlin')
    .option('--name <name>', 'what it is called (default: made like the id of a run)')
    .option(
      '--catch-up <what>',
      'latest: make up for the last one that was missed; none',
      oneOf(CATCH_UPS),
      'none',
    )
    .option('--overlap <what>', 'while the run before goes on: skip, or queue one', oneOf(OVERLAPS), 'skip')
    .option('--cwd <directory>', 'where its steps work (default: here)');
  addRunSettings(add)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      runExamples(
        'schedule add "30 7 * * mon-fri" --tz Europe/Berlin --name review -- review.yaml',
        'schedule add @daily --tz UTC --catch-up latest --max-cost 2 - < graph.json',
      ),
    )
    .action(async (cron: string, graph: string | undefined, options: AddOptions) => {
      process.exitCode = await (await import('./schedule-add.ts')).scheduleAdd(cron, graph, options);
    });
  schedule
    .command('list')
    .description('the schedules of this project, and when each is due')
    .option('--all-projects', 'those of all projects')
    .option('--json', 'print JSON')
    .addHelpText('after', runExamples('schedule list', 'schedule list --all-projects --json'))
    .action(async (options: object) => {
      process.exitCode = await (await import('./schedule-list.ts')).scheduleList(options);
    });
  schedule
    .command('rm')
    .argument('<schedule>', 'name of a schedule')
    .description('remove a schedule; its runs go on')
    .option('--json', 'print JSON')
    .addHelpText('after', runExamples('schedule rm review'))
    .action(async (name: string, options: object) => {
      process.exitCode = await (await import('./schedule-rm.ts')).scheduleRm(name, options);
    });
  schedule
    .command('next')
    .argument('<what>', 'name of a schedule, or an expression')
    .description('print when it is due')
    .option('--tz <zone>', 'the time zone of an expression (default: UTC)')
    .option('-n, --count <n>', 'how many', countUpTo(MOST_INSTANTS), 5)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      runExamples('schedule next review -n 10', 'schedule next "0 2 * * *" --tz Australia/Lord_Howe'),
    )
    .action(async (what: string, options: NextOptions) => {
      process.exitCode = await (await import('./schedule-next.ts')).scheduleNext(what, options);
    });
}

function oneOf<T extends string>(words: readonly T[]): (text: string) => T {
  return (text) => {
    const found = words.find((word) => word === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`use ${words.join(' or ')}`);
  };
}
