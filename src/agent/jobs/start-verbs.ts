import type { Command } from 'commander';
import { examples } from './examples.ts';
import { amountOf, durationOf, thinkingOf, tokensOf } from './values.ts';

/** `start run resume` (J6). */
export function addStartVerbs(program: Command, piArguments: readonly string[]): void {
  const start = program
    .command('start')
    .argument('[prompt...]', 'what the agent is to do; - reads standard input')
    .usage('[options] <prompt|-> [-- <pi arguments>]')
    .description('start a job in the background, and print its name');
  addJobOptions(start)
    .option('--wait', 'wait for its end, print the result, and end with its exit code')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      examples(
        'start "find out why the login test fails"',
        'start --name tests --profile worker --file task.md',
        'start --timeout 2h --model anthropic/claude-opus-4-8 - < task.md',
        'start --prompt "-v is not documented: do it" -- --no-mcp',
      ),
    )
    .action(async (words: string[], options: object) => {
      process.exitCode = await (await import('./start.ts')).start(words, piArguments, options);
    });
  const run = program
    .command('run')
    .argument('[prompt...]', 'what the agent is to do; - reads standard input')
    .usage('[options] <prompt|-> [-- <pi arguments>]')
    .description('run a job in the foreground: its progress, its result, its exit code; Ctrl-C aborts it');
  addJobOptions(run)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      examples('run --profile reviewer "look at the last commit"', 'run --file task.md > result.md'),
    )
    .action(async (words: string[], options: object) => {
      process.exitCode = await (await import('./run.ts')).run(words, piArguments, options);
    });
  const resume = program
    .command('resume')
    .argument('<job>', 'a job that has ended')
    .argument('[prompt...]', 'how to go on; - reads standard input')
    .description('start the next run of a job: the same conversation, in the background');
  addRunOptions(addPromptOptions(resume))
    .option('--wait', 'wait for its end, print the result, and end with its exit code')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('resume tests "now the other one"', 'resume tests --wait --file more.md'))
    .action(async (job: string, words: string[], options: object) => {
      process.exitCode = await (await import('./resume.ts')).resume(job, words, options);
    });
}

function addJobOptions(command: Command): Command {
  addPromptOptions(command)
    .option('--name <name>', 'the job’s name (default: made of the prompt)')
    .option('--profile <name>', 'a profile: multi-agent profiles lists them')
    .option('--model <model>', 'as for pi')
    .option('--thinking <level>', 'as for pi', thinkingOf)
    .option('--tools <list>', 'as for pi')
    .option('--cwd <directory>', 'where the agent works (default: here)');
  return addRunOptions(command).option('--session-dir <directory>', 'where its conversation is written');
}

function addPromptOptions(command: Command): Command {
  return command
    .option('--prompt <text>', 'the prompt, whatever it begins with')
    .option('--file <file>', 'the prompt from a file; - is standard input');
}

function addRunOptions(command: Command): Command {
  return command
    .option('--timeout <duration>', 'how long a run may take, 0 for ever (default: 30m)', durationOf)
    .option('--ask', 'dialogs wait for multi-agent answer instead of being cancelled')
    .option('--max-cost <dollars>', 'what all runs and children may cost together', amountOf)
    .option('--max-tokens <n>', 'what they may use, such as 200k', tokensOf);
}
