import type { Command } from 'commander';
import { LIMITS } from '../../runs/index.ts';
import { amountOf, tokensOf } from '../jobs/values.ts';
import { runExamples } from './examples.ts';
import { countBetween, durationUpTo, maxStepsOf, retryOf } from './values.ts';

/** `start validate` (R4). */
export function addRunStartVerbs(runs: Command): void {
  runs
    .command('start')
    .argument('<graph>', 'a graph of steps, as YAML or JSON; - reads standard input')
    .description('start a graph of agents in the background, and print the id of the run')
    .option('--max-steps <n>', `allow more steps than ${LIMITS.steps}`, maxStepsOf)
    .option(
      '--concurrency <n>',
      `steps at once (default: ${LIMITS.concurrency})`,
      countBetween(1, LIMITS.mostConcurrency),
    )
    .option(
      '--timeout <duration>',
      'how long the run may take (default: 24h)',
      durationUpTo(LIMITS.runSeconds),
    )
    .option(
      '--retention <duration>',
      'how long it is kept when it has ended (default: 24h)',
      durationUpTo(LIMITS.mostRetentionSeconds),
    )
    .option(
      '--retry <when>',
      'a step whose job has died is run once more, or has failed: died, none',
      retryOf,
    )
    .option('--max-cost <dollars>', 'what all its steps may cost together', amountOf)
    .option('--max-tokens <n>', 'what they may use, such as 200k', tokensOf)
    .option('--cwd <directory>', 'where its steps work (default: here)')
    .option('--wait', 'wait for its end; 0: it has succeeded')
    .option('--follow', 'show the graph until its end; 0: it has succeeded')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      runExamples(
        'start review.yaml',
        'start build.yaml --concurrency 3 --max-cost 5 --follow',
        'start - --wait --json < graph.json',
      ),
    )
    .action(async (graph: string, options: object) => {
      process.exitCode = await (await import('./start.ts')).start(graph, options);
    });
  runs
    .command('validate')
    .argument('[file]', 'a graph, as YAML or JSON (default: -, standard input)')
    .description('say everything that is wrong with a graph, and start nothing; 2: it cannot be run')
    .option('--max-steps <n>', `allow more steps than ${LIMITS.steps}`, maxStepsOf)
    .option('--schema', 'print the JSON Schema of graphs instead')
    .option('--json', 'print JSON')
    .addHelpText('after', runExamples('validate review.yaml', 'validate --schema > graph.schema.json'))
    .action(async (file: string | undefined, options: object) => {
      process.exitCode = await (await import('./validate.ts')).validate(file, options);
    });
}
