import type { Command } from 'commander';
import { DOMAIN, examples, type Grammar, PROJECT, several } from './grammar.ts';

/** The options of `start` that a shell takes too. */
function sandboxOptions(command: Command): Command {
  return command
    .option('--domain <name>', DOMAIN)
    .option(
      '-e, --env <NAME[=value]>',
      'set a variable for this program (without value: the current one)',
      several,
    )
    .option('-m, --memory <size>', 'memory limit of a new sandbox, such as 4g')
    .option('--cpus <number>', 'how many processors a new sandbox may use')
    .option('--network <open|none>', 'network of a new sandbox')
    .option('--read-only-project', 'mount the project read-only in a new sandbox')
    .option(
      '--mount <type=bind,source=…,target=…[,readonly]>',
      'one more host directory in a new sandbox',
      several,
    )
    .option(
      '-p, --publish <[[address:]host-port:]port>',
      'reach a port of a new sandbox on this machine (loopback unless an address is given)',
      several,
    )
    .option('--with-domain <name>', "mount another domain's brain too, read-only, in a new sandbox", several)
    .option('--name <name>', 'a name for a new sandbox, usable wherever a project is expected')
    .option('--rebuild', 'build the image anew first')
    .option('--no-build', 'fail instead of building an image that is missing or stale')
    .option('--offline-base', 'if the base image cannot be pulled, make one on this machine without asking')
    .option('--ssh-agent', 'let programs in the sandbox use your SSH agent')
    .option(
      '--git-credentials',
      "let git in the sandbox ask your credential helper, for those of the project's remotes that you agree to",
    )
    .option('--git-credential-hosts <host,…>', 'the same, for these hosts')
    .option('--trust-project-config', "accept the project's own MCP servers and model providers")
    .option('--force', 'start in a directory that is normally refused')
    .option('-v, --verbose', 'say what is done');
}

/** `start` and `shell`: what makes or joins a sandbox and attaches a terminal (S14, S15). */
export function addSandboxVerbs({ program, runs, rest }: Grammar): void {
  sandboxOptions(program.command('start').argument('[project]', PROJECT))
    .description('run pi on a project in its sandbox')
    .option('--demo', 'let the built-in demo model answer: offline, and no real model')
    .addHelpText(
      'after',
      examples(
        'start',
        'start ~/work/shop -- -c',
        "start . -- -p 'what is this?'",
        'start --memory 8g --cpus 4',
      ),
    )
    .action(
      runs(async (argument, options: { build: boolean }) =>
        (await import('../commands/start.ts')).start(argument, [...rest], options),
      ),
    );

  sandboxOptions(program.command('shell').argument('[project]', PROJECT))
    .description('open a shell in the sandbox, or run a command there')
    .option('--root', "be root in a container of its own with the domain's volumes, to look and to repair")
    .addHelpText(
      'after',
      examples(
        'shell',
        'shell ~/work/shop -- git log --oneline -5',
        'shell --root -- du -sh /home/pi/.pi/domain',
      ),
    )
    .action(
      runs(async (argument, options: { build: boolean; root?: boolean }) =>
        (await import('../commands/shell.ts')).shell(argument, [...rest], options),
      ),
    );
}
