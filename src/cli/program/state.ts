import { examples, type Grammar } from './grammar.ts';

/** Verbs about an installation as a whole (S15). */
export function addStateVerbs({ program, runs, rest }: Grammar): void {
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

  program
    .command('completion')
    .argument('<shell>', 'bash, zsh or fish')
    .description("print the script by which a shell completes the command's words")
    .addHelpText(
      'after',
      `\nExamples:
  bash  source <(pi-sandbox completion bash)       in ~/.bashrc
  zsh   source <(pi-sandbox completion zsh)        in ~/.zshrc, after compinit
  fish  pi-sandbox completion fish | source        in ~/.config/fish/config.fish`,
    )
    .action(
      runs(async (argument, _options: object) =>
        (await import('../commands/completion.ts')).completion(argument),
      ),
    );
  program
    .command('__complete', { hidden: true })
    .action(
      runs(async (_argument, _options: object) =>
        (await import('../commands/completion.ts')).complete(program, rest),
      ),
    );
}
