import type { Command } from 'commander';
import { LIMITS } from '../../runs/index.ts';
import { runExamples } from './examples.ts';
import { addRunSettings } from './setting-options.ts';
import { maxStepsOf } from './values.ts';

/** `start validate` (R4). */
export function addRunStartVerbs(runs: Command): void {
  const start = runs
    .command('start')
    .argument('<graph>', 'a graph of steps, as YAML or JSON; - reads standard input')
    .description('start a graph of agents in the background, and print the id of the run');
  addRunSettings(start)
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
