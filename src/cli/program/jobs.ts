import type { Command } from 'commander';
import { DOMAIN, examples, type Grammar, PROJECT, several } from './grammar.ts';

/** Verbs that stand for a program in the sandbox: its words follow the project (J6, R4). */
export function addJobVerbs({ program, runs, rest }: Grammar): void {
  addVerb(program.command('jobs'), {
    what: "start, watch and end the project's background agents: multi-agent in its sandbox",
    words: 'multi-agent',
    shown: [
      'jobs list',
      'jobs . start --profile reviewer "review src/"',
      'jobs ~/work/shop peek --follow review-src',
      'jobs . --help',
    ],
  }).action(
    runs(async (argument, options: object) =>
      (await import('../commands/jobs.ts')).jobs(argument, rest, { build: true, ...options }),
    ),
  );
  addVerb(program.command('runs'), {
    what: "start, look at and take up the project's graphs of agents: multi-agent runs in its sandbox",
    words: 'multi-agent runs',
    shown: [
      'runs list',
      'runs . start review.yaml --follow',
      'runs ~/work/shop take-ownership 20260131 --continue',
      'runs . start - < graph.yaml',
      'runs . --help',
    ],
  }).action(
    runs(async (argument, options: object) =>
      (await import('../commands/runs.ts')).runs(argument, rest, { build: true, ...options }),
    ),
  );
}

function addVerb(
  command: Command,
  { what, words, shown }: { what: string; words: string; shown: readonly string[] },
): Command {
  return command
    .argument('[project]', PROJECT)
    .usage(`[options] [project] <word of ${words}> ...`)
    .description(what)
    .option('--domain <name>', DOMAIN)
    .option(
      '-e, --env <NAME[=value]>',
      'set a variable for this program (without value: the current one)',
      several,
    )
    .addHelpText('after', examples(...shown));
}
