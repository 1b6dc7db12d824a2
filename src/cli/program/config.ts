import { DOMAIN, examples, type Grammar, PROJECT } from './grammar.ts';

/** `config show|check|keep` (S8). */
export function addConfigVerbs({ program, runs }: Grammar): void {
  const config = program
    .command('config')
    .description('look at the configuration, and keep what sessions changed');
  config
    .command('show')
    .argument('[project]', PROJECT)
    .description('the configuration a Session of the project would get, with where each part comes from')
    .option('--domain <name>', DOMAIN)
    .option('--json', 'print JSON')
    .addHelpText('after', examples('config show', 'config show ~/work/shop --json'))
    .action(
      runs(async (argument, options: object) =>
        (await import('../commands/config.ts')).configShow(argument, options),
      ),
    );
  config
    .command('check')
    .argument('[project]', PROJECT)
    .description('check .env and every configuration file')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('config check'))
    .action(
      runs(async (argument, options: object) =>
        (await import('../commands/config.ts')).configCheck(argument, options),
      ),
    );

  config
    .command('keep')
    .argument('[project]', PROJECT)
    .description('take over what sessions changed in the configuration of a running sandbox')
    .option('--domain <name>', DOMAIN)
    .option('--to <global|domain|none>', 'the level to keep it in, without asking for each change')
    .addHelpText('after', examples('config keep', 'config keep ~/work/shop --to domain'))
    .action(
      runs(async (argument, options: object) =>
        (await import('../commands/config-keep.ts')).configKeep(argument, options),
      ),
    );
}
