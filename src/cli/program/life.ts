import { count, DOMAIN, examples, type Grammar, PROJECT, several } from './grammar.ts';

/** Verbs about sandboxes that run or have run (S14, S15). */
export function addLifeVerbs({ program, runs, runsMany, rest }: Grammar): void {
  program
    .command('stop')
    .argument('[project...]', PROJECT)
    .description('end sandboxes; pi gets time to save')
    .option('--all', 'every sandbox of this installation')
    .option('--domain <name>', DOMAIN)
    .option('-t, --time <seconds>', 'how long to wait before it is killed', count, 15)
    .option('--when-idle', 'let it end when nothing lives in it any more, instead of ending it now')
    .addHelpText('after', examples('stop', 'stop ~/work/shop ~/work/api', 'stop --all --when-idle'))
    .action(
      runsMany(async (words, options: { time: number }) =>
        (await import('../commands/stop.ts')).stop(words, options),
      ),
    );

  program
    .command('ps')
    .description('list the sandboxes')
    .option('-a, --all', 'also those that have ended, from their logs')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('ps', 'ps --all', 'ps --json'))
    .action(runs(async (_argument, options: object) => (await import('../commands/ps.ts')).ps(options)));

  program
    .command('logs')
    .argument('[project]', PROJECT)
    .description("print a sandbox's log")
    .option('--domain <name>', DOMAIN)
    .option('-n, --tail <lines>', 'only the last lines', count, 1_000)
    .option('-f, --follow', 'go on printing as it grows')
    .option('--json', 'print the lines as they are stored')
    .addHelpText('after', examples('logs', 'logs -f ~/work/shop'))
    .action(
      runs(async (argument, options: { tail: number }) =>
        (await import('../commands/logs.ts')).logs(argument, options),
      ),
    );

  program
    .command('restart')
    .argument('[project]', PROJECT)
    .description('end a sandbox and make it anew, with the options it had')
    .option('--domain <name>', DOMAIN)
    .option('-t, --time <seconds>', 'how long to wait before it is killed', count, 15)
    .addHelpText('after', examples('restart', 'restart ~/work/shop'))
    .action(
      runs(async (argument, options: { time: number }) =>
        (await import('../commands/restart.ts')).restart(argument, options),
      ),
    );

  program
    .command('exec')
    .argument('[project]', PROJECT)
    .usage('[options] [project] -- command...')
    .description('run a command in a sandbox that is running')
    .option('--domain <name>', DOMAIN)
    .option('-e, --env <NAME[=value]>', 'set a variable for the command', several)
    .option('-w, --workdir <directory>', 'directory in the sandbox (default: the project)')
    // Fingers that know docker type them; there is a terminal where both ends are one, and input always.
    .addOption(program.createOption('-i, --interactive').hideHelp())
    .addOption(program.createOption('-t, --tty').hideHelp())
    .addHelpText('after', examples('exec -- git status', 'exec ~/work/shop -w /tmp -- ls -l'))
    .action(
      runs(async (argument, options: object) =>
        (await import('../commands/exec.ts')).exec(argument, rest, options),
      ),
    );

  program
    .command('inspect')
    .argument('[project]', PROJECT)
    .description('everything known about a sandbox')
    .option('--domain <name>', DOMAIN)
    .option('--json', 'print JSON')
    .addHelpText('after', examples('inspect', 'inspect ~/work/shop --json'))
    .action(
      runs(async (argument, options: object) =>
        (await import('../commands/inspect.ts')).inspect(argument, options),
      ),
    );

  program
    .command('cp')
    .argument(
      '<path...>',
      'two paths, one of them in a sandbox: project:/path (.:/path for the current project)',
    )
    .description('copy files between this machine and a running sandbox; - is a tar on a standard stream')
    .option('--domain <name>', DOMAIN)
    .option('-L, --follow-link', 'follow a link in the last component of what is copied')
    .addHelpText(
      'after',
      examples('cp .:/tmp/report.txt .', 'cp ./data shop:/tmp/', 'cp .:~/.config - | tar t'),
    )
    .action(
      runsMany(async (words, options: object) => (await import('../commands/cp.ts')).cp(words, options)),
    );
}
