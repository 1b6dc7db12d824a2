/**
 * The host's command: parses the words and hands over to one file per verb, loaded only when called. What stands
 * after `--` belongs to the program in the sandbox and is never looked at here.
 */
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { EXIT, hasCode, messageOf, OperationError } from '../lib/errors.ts';
import type { GlobalOptions } from './global-options.ts';
import { reportError } from './ui/report.ts';

const separator = process.argv.indexOf('--');
const words = separator < 0 ? process.argv : process.argv.slice(0, separator);
const rest = separator < 0 ? [] : process.argv.slice(separator + 1);

const program = new Command('pi-sandbox')
  .description('Run the pi coding agent in a locked-down container')
  .version(PI_SANDBOX_VERSION, '-V, --version')
  .option('--engine <context|url>', 'the engine to use instead of the one found')
  .option('--debug', 'show how things were found, and a stack trace on failure')
  .showHelpAfterError('(pi-sandbox --help lists the commands)')
  .helpCommand(false)
  .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'pi-sandbox: ')) })
  .exitOverride();

/** Runs a verb and turns its result into the exit code. */
function runs<Options extends object>(
  verb: (argument: string | undefined, options: Options & GlobalOptions) => Promise<number>,
) {
  return async (...given: [string | undefined, Options, Command] | [Options, Command]): Promise<void> => {
    const [argument, options] = given.length === 3 ? [given[0], given[1]] : [undefined, given[0]];
    process.exitCode = await verb(argument, { ...program.opts<GlobalOptions>(), ...options });
  };
}

const project = 'directory of the project (default: the current one)';
const count = (text: string): number => {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('a whole number is expected');
  return Number(text);
};
const several = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value];

/** The options of `start` that a shell takes too. */
function sandboxOptions(command: Command): Command {
  return command
    .option('--domain <name>', 'the domain, instead of the one the project lies in')
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
    .option('--name <name>', 'a name for a new sandbox, usable wherever a project is expected')
    .option('--rebuild', 'build the image anew first')
    .option('--no-build', 'fail instead of building an image that is missing or stale')
    .option('--offline-base', 'if the base image cannot be pulled, make one on this machine without asking')
    .option('--trust-project-config', "accept the project's own MCP servers and model providers")
    .option('--force', 'start in a directory that is normally refused')
    .option('-v, --verbose', 'say what is done');
}

sandboxOptions(program.command('start').argument('[project]', project))
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
      (await import('./commands/start.ts')).start(argument, rest, options),
    ),
  );

sandboxOptions(program.command('shell').argument('[project]', project))
  .description('open a shell in the sandbox, or run a command there')
  .addHelpText('after', examples('shell', 'shell ~/work/shop -- git log --oneline -5'))
  .action(
    runs(async (argument, options: { build: boolean }) =>
      (await import('./commands/shell.ts')).shell(argument, rest, options),
    ),
  );

program
  .command('stop')
  .argument('[project]', project)
  .description('end a sandbox; pi gets time to save')
  .option('--all', 'every sandbox of this installation')
  .option('--domain <name>', 'the domain, instead of the one the project lies in')
  .option('-t, --time <seconds>', 'how long to wait before it is killed', count, 15)
  .addHelpText('after', examples('stop', 'stop ~/work/shop', 'stop --all'))
  .action(
    runs(async (argument, options: { time: number }) =>
      (await import('./commands/stop.ts')).stop(argument, options),
    ),
  );

program
  .command('ps')
  .description('list the sandboxes')
  .option('-a, --all', 'also those that have ended, from their logs')
  .option('--json', 'print JSON')
  .addHelpText('after', examples('ps', 'ps --all', 'ps --json'))
  .action(runs(async (_argument, options: object) => (await import('./commands/ps.ts')).ps(options)));

program
  .command('logs')
  .argument('[project]', project)
  .description("print a sandbox's log")
  .option('--domain <name>', 'the domain, instead of the one the project lies in')
  .option('-n, --tail <lines>', 'only the last lines', count, 1_000)
  .option('-f, --follow', 'go on printing as it grows')
  .option('--json', 'print the lines as they are stored')
  .addHelpText('after', examples('logs', 'logs -f ~/work/shop'))
  .action(
    runs(async (argument, options: { tail: number }) =>
      (await import('./commands/logs.ts')).logs(argument, options),
    ),
  );

program
  .command('selftest')
  .argument('[project]', project)
  .description('check a sandbox from inside: user, limits, mounts, network, pi')
  .option('--domain <name>', 'the domain, instead of the one the project lies in')
  .option('--json', 'print JSON')
  .addHelpText('after', examples('selftest', 'selftest ~/work/shop --json'))
  .action(
    runs(async (argument, options: object) =>
      (await import('./commands/selftest.ts')).selftest(argument, options),
    ),
  );

program
  .command('doctor')
  .description("check this machine's side: engine, image, configuration, leftovers")
  .option('--json', 'print JSON')
  .action(runs(async (_argument, options: object) => (await import('./commands/doctor.ts')).doctor(options)));

const config = program.command('config').description('look at the configuration');
config
  .command('show')
  .argument('[project]', project)
  .description('the configuration a Session of the project would get, with where each part comes from')
  .option('--domain <name>', 'the domain, instead of the one the project lies in')
  .option('--json', 'print JSON')
  .action(
    runs(async (argument, options: object) =>
      (await import('./commands/config.ts')).configShow(argument, options),
    ),
  );
config
  .command('check')
  .argument('[project]', project)
  .description('check .env and every configuration file')
  .option('--json', 'print JSON')
  .action(
    runs(async (argument, options: object) =>
      (await import('./commands/config.ts')).configCheck(argument, options),
    ),
  );

const image = program.command('image').description('the image that sandboxes run');
image
  .command('build')
  .description('build the image if it is missing or stale')
  .option('--rebuild', 'build it even if it is fresh')
  .option('--offline-base', 'if the base image cannot be pulled, make one on this machine without asking')
  .action(
    runs(async (_argument, options: object) => (await import('./commands/image.ts')).imageBuild(options)),
  );
image
  .command('status')
  .description('say whether the image is fresh, stale or missing')
  .option('--json', 'print JSON')
  .action(
    runs(async (_argument, options: object) => (await import('./commands/image.ts')).imageStatus(options)),
  );
image
  .command('prune')
  .description('remove old images of this installation that nothing uses')
  .option('--dry-run', 'only say what would go')
  .action(
    runs(async (_argument, options: object) => (await import('./commands/image.ts')).imagePrune(options)),
  );

const volumes = program.command('volumes').description('the volumes of this installation');
volumes
  .command('list')
  .description('list the volumes with what they are for')
  .option('--json', 'print JSON')
  .action(
    runs(async (_argument, options: object) => (await import('./commands/volumes.ts')).volumesList(options)),
  );
volumes
  .command('chown')
  .argument('[uid:gid]', 'the new owner (default: the user a sandbox would run as)')
  .description('give the volumes to another user; links are never followed')
  .option('--domain <name>', "only this domain's volumes and the shared one")
  .option('--yes', 'do not ask')
  .action(
    runs(async (argument, options: object) =>
      (await import('./commands/volumes.ts')).volumesChown(argument, options),
    ),
  );

function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ pi-sandbox ${line}`).join('\n')}`;
}

async function main(): Promise<void> {
  try {
    await program.parseAsync(words);
  } catch (error) {
    if (error instanceof CommanderError) {
      // Help and version are no failure; anything else of commander's is a wrong command line, already explained.
      process.exitCode = error.exitCode === 0 ? 0 : EXIT.usage;
    } else {
      process.exitCode = reportError(error, { debug: program.opts<GlobalOptions>().debug === true });
    }
  }
}

/** A reader that has seen enough (`| head`) is no failure; a disk that takes no more is one, whatever the verb says. */
process.stdout.on('error', (error) => {
  if (hasCode(error, 'EPIPE')) return;
  reportError(new OperationError(`cannot write the output: ${messageOf(error)}`), { debug: false });
  process.once('exit', (code) => {
    process.exitCode = code || EXIT.failed;
  });
});
process.stderr.on('error', () => undefined);

// Not awaited here: the bundle is a script, which has no await of its own.
void main();
