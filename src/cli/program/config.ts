import { DOMAIN, type Grammar, PROJECT } from './grammar.ts';

/** `config show|check` (S8). */
export function addConfigVerbs({ program, runs }: Grammar): void {
  const config = program.command('config').description('look at the configuration');
  config
    .command('show')
    .argument('[project]', PROJECT)
    .description('the configuration a Session of the project would get, with where each part comes from')
    .option('--domain <name>', DOMAIN)
    .option('--json', 'print JSON')
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
    .action(
      runs(async (argument, options: object) =>
        (await import('../commands/config.ts')).configCheck(argument, options),
      ),
    );
}
