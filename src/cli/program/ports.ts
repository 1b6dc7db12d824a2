import { DOMAIN, examples, type Grammar, PROJECT } from './grammar.ts';

/** `ports` and `forward`: what listens in a sandbox, and how to reach it (S14). */
export function addPortVerbs({ program, runs, runsMany }: Grammar): void {
  program
    .command('ports')
    .argument('[project]', PROJECT)
    .description('list what listens in a sandbox, and what is published')
    .option('--domain <name>', DOMAIN)
    .option('--json', 'print JSON')
    .addHelpText('after', examples('ports', 'ports ~/work/shop --json'))
    .action(
      runs(async (argument, options: object) =>
        (await import('../commands/ports.ts')).ports(argument, options),
      ),
    );

  program
    .command('forward')
    .argument(
      '<port|project...>',
      'ports, each alone or as local:remote, and the project if not the current one',
    )
    .description("reach a sandbox's port on this machine, until Ctrl-C")
    .option('--domain <name>', DOMAIN)
    .option('-v, --verbose', 'say what is done')
    .addHelpText('after', examples('forward 3000', 'forward 8080:80 ~/work/shop', 'forward 0:5432 shop'))
    .action(
      runsMany(async (words: string[], options: object) =>
        (await import('../commands/forward.ts')).forward(words, options),
      ),
    );

  // What a start leaves running beside a sandbox; users never call it.
  program
    .command('__relay', { hidden: true })
    .argument('<file>')
    .action(
      runs(async (argument, options: object) =>
        (await import('../commands/relay.ts')).relay(argument, options),
      ),
    );
}
