/** The words of a command line before they are parsed: pi's own arguments, and prompts that look like options (J6). */
import type { Command } from 'commander';
import { UsageError } from '../../lib/errors.ts';

const WITH_PI_ARGUMENTS = new Set(['start', 'run']);
const WITH_PROMPT = new Set(['start', 'run', 'resume']);

/** What would make pi something else than a job's, by every name that pi has for it. */
const REFUSED = new Set([
  ...['--mode', '--print', '-p', '--session', '--session-id', '--session-dir', '--no-session', '--fork'],
  ...['--continue', '-c', '--resume', '-r', '--export', '--list-models', '--help', '-h', '--version', '-v'],
]);

/** Node and the program stand first. */
function verbOf(words: readonly string[]): string | undefined {
  return words.slice(2).find((word) => !word.startsWith('-'));
}

/** Takes what stands behind `--` of the verbs that hand it to pi. */
export function splitPiArguments(words: readonly string[]): { words: string[]; piArguments: string[] } {
  const at = words.indexOf('--');
  if (at === -1 || !WITH_PI_ARGUMENTS.has(verbOf(words.slice(0, at)) ?? '')) {
    return { words: [...words], piArguments: [] };
  }
  return { words: words.slice(0, at), piArguments: words.slice(at + 1) };
}

/** @throws UsageError for what a job's pi cannot be given */
export function checkPiArguments(piArguments: readonly string[]): void {
  for (const argument of piArguments) {
    const [option = ''] = argument.split('=');
    if (!REFUSED.has(option)) continue;
    throw new UsageError(`${option} cannot be given to the pi of a job`, {
      hint: 'multi-agent start --help lists the options of a job; a prompt that begins with "-" goes with --prompt',
    });
  }
}

/**
 * A word that begins with `-` and has a space in it is no option, so it is the prompt; a shorter one needs `--prompt`.
 */
export function promptsThatBeginWithADash(program: Command, words: readonly string[]): string[] {
  const verb = program.commands.find((command) => command.name() === verbOf(words));
  if (verb === undefined || !WITH_PROMPT.has(verb.name())) return [...words];
  const takesValue = (word: string | undefined): boolean =>
    verb.options.some((option) => option.required && (option.long === word || option.short === word));
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  return words.flatMap((word, index) => {
    const isPrompt = index < end && isText(word) && !takesValue(words[index - 1]);
    return isPrompt ? ['--prompt', word] : [word];
  });
}

function isText(word: string): boolean {
  return /^-.*\s/s.test(word) && !/^--[a-z][a-z-]*=/.test(word);
}
