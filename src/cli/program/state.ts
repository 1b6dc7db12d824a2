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
    .command('import')
    .description('take history, login and configuration of a plain pi on this machine over; copies only')
    .option(
      '--from <directory>',
      "pi's agent directory (default: PI_ADAPTATIVE_CODING_AGENT_DIR, PI_CODING_AGENT_DIR, or ~/.pi/agent)",
    )
    .option('--history', 'its Sessions, each into the domain of its working directory')
    .option('--login', 'its login, trust decisions and MCP sign-ins')
    .option('--config', 'its settings, models, instructions, skills, extensions …')
    .option('--domain <name>', "only this domain's Sessions; the MCP sign-ins are this domain's")
    .option('--replace-login', 'where both have a login for the same provider, take this one')
    .option('-n, --dry-run', 'only show what would be copied')
    .option('--json', 'show it as JSON')
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      examples(
        'import --dry-run',
        'import',
        'import --history --domain acme --yes',
        'import --from /mnt/old/.pi/agent',
      ),
    )
    .action(
      runs(async (_argument, options: object) => (await import('../commands/import.ts')).importPi(options)),
    );

  program
    .command('export')
    .description('write history, login and configuration for a plain pi; never over what is there')
    .option(
      '--to <directory>',
      "pi's agent directory (default: PI_ADAPTATIVE_CODING_AGENT_DIR, PI_CODING_AGENT_DIR, or ~/.pi/agent)",
    )
    .option('--domain <name>', "this domain's Sessions and MCP sign-ins")
    .option('--all', "every domain's Sessions")
    .option('--history', 'Sessions')
    .option('--login', 'the login')
    .option('--config', 'the global level of the configuration')
    .option('-n, --dry-run', 'only show what would be written')
    .option('--json', 'show it as JSON')
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      examples(
        'export --all --dry-run',
        'export --all --to ~/plain-pi',
        'export --domain acme --history --yes',
      ),
    )
    .action(
      runs(async (_argument, options: object) => (await import('../commands/export.ts')).exportPi(options)),
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
