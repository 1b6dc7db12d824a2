import type { Command } from 'commander';
import { runExamples } from './examples.ts';
import { maxStepsOf } from './values.ts';

/** `start validate` (R4). */
export function addRunStartVerbs(runs: Command): void {
  runs
    .command('validate')
    .argument('[file]', 'a graph, as YAML or JSON (default: -, standard input)')
    .description('say everything that is wrong with a graph, and start nothing; 2: it cannot be run')
    .option('--max-steps <n>', 'allow more steps than 16', maxStepsOf)
    .option('--schema', 'print the JSON Schema of graphs instead')
    .option('--json', 'print JSON')
    .addHelpText('after', runExamples('validate review.yaml', 'validate --schema > graph.schema.json'))
    .action(async (file: string | undefined, options: object) => {
      process.exitCode = await (await import('./validate.ts')).validate(file, options);
    });
}
