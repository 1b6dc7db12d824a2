/**
 * The words of the command line that are ours, and those that belong to a program in the sandbox and are never looked
 * at here: all behind `--`, and for a verb that stands for a program inside all behind its project.
 */

/** Verbs whose words are those of a program in the sandbox, with the first words that it knows (the spec's house). */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  jobs: [
    'start',
    'run',
    'resume',
    'wait',
    'status',
    'list',
    'peek',
    'output',
    'steer',
    'follow-up',
    'abort',
    'kill',
    'answer',
    'open',
    'usage',
    'profiles',
    'rm',
    'prune',
  ],
  runs: [
    'start',
    'validate',
    'list',
    'show',
    'status',
    'wait',
    'message',
    'cancel',
    'cleanup',
    'reattach',
    'take-ownership',
    'step-result',
    'events',
    'schedule',
    'sweep',
  ],
};

/** Our options that take a value in the next word; `--help` and the like take none. */
const WITH_VALUE = new Set(['--engine', '--domain', '-e', '--env']);

export interface PassedWords {
  /** For commander: from the program's own two words on. */
  readonly words: readonly string[];
  readonly rest: readonly string[];
}

/**
 * Divides `process.argv`. After `jobs` and `runs`, options come first, then the project, then the program's own words; a first word
 * that the program knows means that no project was named (a project of that name is `./list`).
 */
export function passedWords(argv: readonly string[]): PassedWords {
  const verb = firstPlain(argv, 2);
  const known = PROGRAMS[argv[verb] ?? ''];
  if (known === undefined) return atSeparator(argv);
  const next = firstPlain(argv, verb + 1);
  const word = argv[next];
  const split = word === undefined || word === '--' || known.includes(word) ? next : next + 1;
  const rest = argv.slice(split);
  return { words: argv.slice(0, split), rest: rest[0] === '--' ? rest.slice(1) : rest };
}

function atSeparator(argv: readonly string[]): PassedWords {
  const separator = argv.indexOf('--');
  if (separator < 0) return { words: argv, rest: [] };
  return { words: argv.slice(0, separator), rest: argv.slice(separator + 1) };
}

/** Where the first word stands, from `at` on, that is neither an option nor an option's value. */
function firstPlain(argv: readonly string[], at: number): number {
  for (let index = at; index < argv.length; index++) {
    const word = argv[index] ?? '';
    if (WITH_VALUE.has(word)) index++;
    else if (word === '--' || !word.startsWith('-')) return index;
  }
  return argv.length;
}
