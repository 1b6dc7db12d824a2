import type { Command, Option } from 'commander';

/** One thing that could stand where the cursor is. */
export interface Candidate {
  readonly value: string;
  readonly description?: string;
}

/** What is asked for: fixed words, or names that somebody has to look up; and whether paths count too. */
export interface Wanted {
  readonly fixed: readonly Candidate[];
  readonly live?: 'sandboxes' | 'sandbox-paths' | 'domains' | 'sessions';
  readonly paths?: 'files' | 'directories';
}

const NOTHING: Wanted = { fixed: [] };

/** Values of options, by the long flag, or by verb and flag. What is not here takes something that nobody can guess. */
const OPTION_VALUES: Readonly<Record<string, Wanted>> = {
  '--domain': { fixed: [], live: 'domains' },
  '--with-domain': { fixed: [], live: 'domains' },
  '--network': { fixed: [{ value: 'open' }, { value: 'none' }] },
  'keep --to': { fixed: [{ value: 'global' }, { value: 'domain' }, { value: 'none' }] },
  'export --to': { fixed: [], paths: 'directories' },
  'import --from': { fixed: [], paths: 'directories' },
  '--output': { fixed: [], paths: 'files' },
};

/** Arguments, by the name that a command's help gives them. */
const ARGUMENTS: Readonly<Record<string, Wanted>> = {
  project: { fixed: [], live: 'sandboxes', paths: 'directories' },
  'port|project': { fixed: [], live: 'sandboxes' },
  path: { fixed: [], live: 'sandbox-paths', paths: 'files' },
  domain: { fixed: [], live: 'domains' },
  session: { fixed: [], live: 'sessions' },
  shell: { fixed: [{ value: 'bash' }, { value: 'zsh' }, { value: 'fish' }] },
  file: { fixed: [], paths: 'files' },
};

/**
 * What could stand in place of the last of the words typed after the command's name, from the program's own grammar: so a
 * verb or option that is added completes by itself.
 */
export function wantedAt(program: Command, words: readonly string[]): Wanted {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? '';
  // What follows belongs to another program.
  if (before.includes('--')) return { fixed: [], paths: 'files' };
  let command = program;
  let argument = 0;
  let open: Option | undefined;
  for (const word of before) {
    if (open !== undefined) {
      open = undefined;
    } else if (word.startsWith('-')) {
      const option = optionNamed(program, command, word);
      open =
        option !== undefined && (option.required || option.optional) && !word.includes('=')
          ? option
          : undefined;
    } else {
      const next = argument === 0 ? command.commands.find((one) => one.name() === word) : undefined;
      if (next === undefined) argument++;
      else command = next;
    }
  }
  if (open !== undefined) {
    const { long = '' } = open;
    return OPTION_VALUES[`${command.name()} ${long}`] ?? OPTION_VALUES[long] ?? NOTHING;
  }
  if (current.startsWith('-')) return { fixed: optionsOf(program, command) };
  const subcommands = command.createHelp().visibleCommands(command);
  if (argument === 0 && subcommands.length > 0) {
    return { fixed: subcommands.map((one) => ({ value: one.name(), description: one.description() })) };
  }
  const arguments_ = command.registeredArguments;
  const last = arguments_.at(-1);
  const expected = arguments_[argument] ?? (last?.variadic === true ? last : undefined);
  return ARGUMENTS[expected?.name() ?? ''] ?? NOTHING;
}

function optionNamed(program: Command, command: Command, word: string): Option | undefined {
  const [name] = word.split('=', 1);
  return [...command.options, ...program.options].find(({ long, short }) => long === name || short === name);
}

function optionsOf(program: Command, command: Command): Candidate[] {
  const options = [
    ...command.createHelp().visibleOptions(command),
    ...(command === program ? [] : program.options),
  ];
  return options.flatMap(({ long, description }) => (long ? [{ value: long, description }] : []));
}
