import { DOMAIN, examples, type Grammar, PROJECT, several } from './grammar.ts';

/** Verbs that stand for a program in the sandbox: its words follow the project (J6). */
export function addJobVerbs({ program, runs, rest }: Grammar): void {
  program
    .command('jobs')
    .argument('[project]', PROJECT)
    .usage('[options] [project] <word of multi-agent> ...')
    .description("start, watch and end the project's background agents: multi-agent in its sandbox")
    .option('--domain <name>', DOMAIN)
    .option(
      '-e, --env <NAME[=value]>',
      'set a variable for this program (without value: the current one)',
      several,
    )
    .addHelpText(
      'after',
      examples(
        'jobs list',
        'jobs . start --profile reviewer "review src/"',
        'jobs ~/work/shop peek --follow review-src',
        'jobs . --help',
      ),
    )
    .action(
      runs(async (argument, options: object) =>
        (await import('../commands/jobs.ts')).jobs(argument, rest, { build: true, ...options }),
      ),
    );
}
