/** Running a commander program to its exit code: the same end for every command of ours (rule 5). */
import { type Command, CommanderError } from 'commander';
import { EXIT, hasCode, messageOf, OperationError } from './errors.ts';
import { reportError } from './report-error.ts';

/**
 * Parses the words and runs what they name. The exit code is set and not returned: output may still be on its way.
 *
 * @param program with `exitOverride()`; its option `--debug`, if it has one, shows stack traces
 * @param words as `process.argv`
 */
export async function runCommandLine(program: Command, words: readonly string[]): Promise<void> {
  watchOutput(program.name());
  try {
    await program.parseAsync(words);
  } catch (error) {
    if (error instanceof CommanderError) {
      // Help and version are no failure; anything else of commander's is a wrong command line, already explained.
      process.exitCode = error.exitCode === 0 ? 0 : EXIT.usage;
    } else {
      const debug = program.opts<{ debug?: boolean }>().debug === true;
      process.exitCode = reportError(error, { debug, program: program.name() });
    }
  }
}

/** A reader that has seen enough (`| head`) is no failure; a disk that takes no more is one, whatever the verb says. */
function watchOutput(name: string): void {
  process.stdout.on('error', (error) => {
    if (hasCode(error, 'EPIPE')) return;
    const failure = new OperationError(`cannot write the output: ${messageOf(error)}`);
    reportError(failure, { debug: false, program: name });
    process.once('exit', (code) => {
      process.exitCode = code || EXIT.failed;
    });
  });
  process.stderr.on('error', () => undefined);
}

/** What every program of ours says and does alike: its version, `--debug`, and how it refuses a wrong command line. */
export function configured(program: Command, version: string): Command {
  const name = program.name();
  return program
    .version(version, '-V, --version')
    .option('--debug', 'show how things were found, and a stack trace on failure')
    .showHelpAfterError(`(${name} --help lists the commands)`)
    .helpCommand(false)
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, `${name}: `)) })
    .exitOverride();
}
