import { examples, type Grammar } from './grammar.ts';

/** Verbs about an installation's whole state (S15). */
export function addStateVerbs({ program, runs }: Grammar): void {
  program
    .command('reset')
    .description('remove the state of a domain, or of everything; lists what goes and asks')
    .option('--domain <name>', "only this domain's sandboxes, network and volumes")
    .option('--all', 'everything of this installation: volumes with the login, networks, containers, images')
    .option('-n, --dry-run', 'only list what would go')
    .option('--json', 'list it as JSON')
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      examples('reset --domain acme --dry-run', 'reset --domain acme', 'reset --all --yes'),
    )
    .action(
      runs(async (_argument, options: object) => (await import('../commands/reset.ts')).reset(options)),
    );
}
