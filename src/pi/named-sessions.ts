/**
 * Which Sessions pi's own arguments name, so that retention leaves them alone (S11). Rather more is said to be named than
 * pi would open: what is spared today can go tomorrow. So an option counts wherever it stands, also where pi would take
 * it for another option's value, and `--session=x`, which pi 1.6.0 refuses, counts as well.
 */
export interface NamedSessions {
  /** Ids, or first characters of ids: pi takes either. */
  readonly ids: readonly string[];
  /** Files as they were given: absolute, from `~`, or from the working directory. */
  readonly files: readonly string[];
  /** The newest of the working directory is named, whichever that is (`-c`). */
  readonly newest: boolean;
  /** The user will choose among those of the working directory (`-r`). */
  readonly choice: boolean;
  /** Where pi is told to look instead of its own place (`--session-dir`). */
  readonly directory: string | undefined;
}

const NAMING = new Set(['--session', '--session-id', '--fork', '--export']);

/** Reads the arguments up to `--`; what stands after it is text for the model. */
export function namedSessions(args: readonly string[]): NamedSessions {
  const end = args.indexOf('--');
  const words = (end < 0 ? args : args.slice(0, end)).flatMap(splitAtEquals);
  const values = (options: ReadonlySet<string>): string[] =>
    words.flatMap((word, at) => (options.has(words[at - 1] ?? '') && word !== '' ? [word] : []));
  const named = values(NAMING);
  return {
    ids: named.filter((value) => !isPath(value)),
    files: named.filter(isPath),
    newest: words.includes('-c') || words.includes('--continue'),
    choice: words.includes('-r') || words.includes('--resume'),
    directory: values(new Set(['--session-dir'])).at(-1),
  };
}

/** As pi tells a path from an id. */
function isPath(value: string): boolean {
  return value.includes('/') || value.includes('\\') || value.endsWith('.jsonl');
}

function splitAtEquals(word: string): string[] {
  const at = word.startsWith('--') ? word.indexOf('=') : -1;
  return at < 0 ? [word] : [word.slice(0, at), word.slice(at + 1)];
}
