import type { Command } from 'commander';
import { examples } from './examples.ts';

/** `steer follow-up abort kill answer open` (J5, J6, J13). */
export function addControlVerbs(program: Command): void {
  addTextVerb(program, 'steer', 'tell a running job something, which it reads after its current tool', [
    'steer tests "leave the old API alone"',
    'steer tests --prompt "-v is the option"',
  ]);
  addTextVerb(program, 'follow-up', 'give a running job more to do when it is done with what it does', [
    'follow-up tests "then write a changelog entry"',
  ]);
  for (const [op, what] of [
    ['abort', 'stop the turn of a job; its conversation can be resumed'],
    ['kill', 'end a job’s pi and everything that it has started'],
  ] as const) {
    program
      .command(op)
      .argument('<job>', 'a job that runs')
      .description(what)
      .option('--tree', 'and before it every job below it, the deepest first')
      .option('--json', 'print JSON')
      .addHelpText('after', examples(`${op} tests`, `${op} tests --tree`))
      .action(async (job: string, options: object) => {
        process.exitCode = await (await import('./stop.ts')).stop(op, job, options);
      });
  }
  program
    .command('answer')
    .argument('<job>', 'a job that waits, started with --ask')
    .argument('<value>', 'an option or its number, yes or no, or a text')
    .description('answer the dialog that a job waits with')
    .option('--dialog <id>', 'which one, as status names it (default: the oldest)')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('answer deploy yes', 'answer deploy 2', 'answer deploy -- "-1"'))
    .action(async (job: string, value: string, options: object) => {
      process.exitCode = await (await import('./answer.ts')).answer(job, value, options);
    });
  program
    .command('open')
    .argument('<job>', 'a job that has ended')
    .description('open the whole conversation of a job in interactive pi')
    .addHelpText('after', examples('open tests'))
    .action(async (job: string) => {
      process.exitCode = await (await import('./open.ts')).open(job);
    });
}

function addTextVerb(
  program: Command,
  op: 'steer' | 'follow-up',
  what: string,
  shown: readonly string[],
): void {
  program
    .command(op)
    .argument('<job>', 'a job that runs')
    .argument('[text...]', 'the text; - reads standard input')
    .description(`${what}; prints: delivered, queued or not running`)
    .option('--prompt <text>', 'the text, whatever it begins with')
    .option('--file <file>', 'the text from a file; - is standard input')
    .option('--json', 'print JSON')
    .addHelpText('after', examples(...shown))
    .action(async (job: string, words: string[], options: object) => {
      process.exitCode = await (await import('./steer.ts')).steer(op, job, words, options);
    });
}
