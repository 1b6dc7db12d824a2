/** Reading `.env`: dotenv's grammar, plus the line of each key, so that a message can say where (S6). */
import { readOwnFile } from './own-file.ts';

/** Bytes of `.env` that are read; a larger one is refused (rule 7). */
const MAX_ENV_FILE = 256 * 1024;

export interface EnvEntry {
  readonly value: string;
  /** `file:line`, or the environment variable's name. */
  readonly where: string;
}

export interface EnvFile {
  readonly entries: ReadonlyMap<string, EnvEntry>;
  /** Lines that dotenv silently passes over, as `file:line`. */
  readonly ignored: readonly string[];
}

/** The entries of `path`; none when there is no such file. */
export async function readEnvFile(path: string): Promise<EnvFile | undefined> {
  const file = await readOwnFile(path, MAX_ENV_FILE);
  if (file === undefined) return undefined;
  const text = file.content.toString('utf8').replace(/^\uFEFF/, '');
  // Loaded only where there is a file: a machine without configuration does not pay for the parser.
  const { parse } = await import('../../lib/dotenv.ts');
  const values = parse(text);
  const lines = text.split(/\r\n|\n|\r/);
  const entries = new Map<string, EnvEntry>();
  for (const [key, value] of Object.entries(values)) {
    const line = lines.findLastIndex((candidate) => keyOfLine(candidate) === key) + 1;
    entries.set(key, { value, where: line > 0 ? `${path}:${line}` : path });
  }
  // With a value over several lines, a line without "=" may well be part of it.
  const severalLines = Object.values(values).some((value) => value.includes('\n'));
  return { entries, ignored: severalLines ? [] : unreadLines(path, lines) };
}

function keyOfLine(line: string): string | undefined {
  return /^\s*(?:export\s+)?([\w.-]+)\s*(?:=|:\s)/.exec(line)?.[1];
}

function unreadLines(path: string, lines: readonly string[]): string[] {
  return lines.flatMap((line, index) =>
    /^\s*(#|$)/.test(line) || keyOfLine(line) !== undefined ? [] : [`${path}:${index + 1}`],
  );
}
