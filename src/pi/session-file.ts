/**
 * What we need to know of pi's Session files: one JSONL file per Session whose first line is the header. The format
 * is pi's; these readers are bounded and take nothing for granted, because a sandbox can write such a file.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod/mini';

/** pi's own bound for the search of a header; a longer first line is no Session for anybody. */
const MAX_HEADER_BYTES = 1024 * 1024;
/** A header is some 200 bytes; a larger first read costs more than all the rest, over many files. */
const USUAL_HEADER_BYTES = 2 * 1024;
const READ_BYTES = 64 * 1024;

const idPattern = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;

/** Made on first use: the lock extension imports this room and must not pay for schemas it does not need. */
let schemas: ReturnType<typeof makeSchemas> | undefined;

function makeSchemas() {
  const id = z.string().check(z.regex(idPattern), z.maxLength(200)).brand<'SessionId'>();
  const header = z.object({
    type: z.literal('session'),
    /** Missing in the oldest format. */
    version: z.optional(z.int()),
    id,
    timestamp: z.optional(z.string()),
    cwd: z.optional(z.string()),
    /** The file that this Session was forked from. */
    parentSession: z.optional(z.string()),
  });
  return { id, header };
}

/** A Session's id as pi allows it. */
export type SessionId = z.infer<ReturnType<typeof makeSchemas>['id']>;

/** The first line of a Session file. */
export type SessionHeader = z.infer<ReturnType<typeof makeSchemas>['header']>;

/** The id, or undefined when pi would not accept it as one. */
export function parseSessionId(text: string): SessionId | undefined {
  schemas ??= makeSchemas();
  return z.safeParse(schemas.id, text).data;
}

/**
 * The header of a Session file, or undefined for a file that is none (also a link, a directory, a pipe).
 *
 * @throws the system's error when the file is missing or unreadable
 */
export function readSessionHeader(file: string): SessionHeader | undefined {
  return sessionHeader(readHeaderLine(file));
}

/** As {@link readSessionHeader}, of a file that is open; its position stays where it is. */
export function readOpenSessionHeader(descriptor: number): SessionHeader | undefined {
  return sessionHeader(headerLineOf(descriptor));
}

/** As {@link readSessionHeader}, of the whole content of a file. */
export function parseSessionHeader(content: Buffer): SessionHeader | undefined {
  for (let start = 0; start < content.length; ) {
    const newline = content.indexOf(10, start);
    const end = newline === -1 ? content.length : newline;
    const value = parse(content.toString('utf8', start, end));
    if (value !== undefined) return sessionHeader(value);
    start = end + 1;
  }
  return undefined;
}

function sessionHeader(line: unknown): SessionHeader | undefined {
  schemas ??= makeSchemas();
  return line === undefined ? undefined : z.safeParse(schemas.header, line).data;
}

/**
 * Only the header's id, without the schema: for the lock, which must be ready before pi's first append.
 *
 * @throws the system's error when the file is missing or unreadable
 */
export function readSessionFileId(file: string): string | undefined {
  const header = readHeaderLine(file);
  if (typeof header !== 'object' || header === null || !('type' in header) || !('id' in header))
    return undefined;
  return header.type === 'session' && typeof header.id === 'string' ? header.id : undefined;
}

/**
 * The folder below `sessions/` in which pi keeps the Sessions of a working directory. The encoding is lossy: `/a-b`
 * and `/a/b` share one folder, so the header's `cwd` decides what belongs where.
 */
export function sessionFolderName(cwd: string): string {
  return `--${cwd.replace(/^[/\\]/, '').replace(/[/\\:]/g, '-')}--`;
}

/** The directory that every pi of a sandbox is given explicitly (S11). */
export function sessionDirectory(sessions: string, cwd: string): string {
  return join(sessions, sessionFolderName(cwd));
}

/** The header's line, of a path whose last component is no link. */
function readHeaderLine(file: string): unknown {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return headerLineOf(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The first line that is JSON: like pi, blank and malformed lines before it are skipped. */
function headerLineOf(descriptor: number): unknown {
  const stats = fstatSync(descriptor);
  if (!stats.isFile()) return undefined;
  let text: Buffer = Buffer.alloc(0);
  for (let place = 0; place < MAX_HEADER_BYTES; ) {
    const length = place === 0 ? USUAL_HEADER_BYTES : READ_BYTES;
    const piece = Buffer.allocUnsafe(Math.min(length, Math.max(0, stats.size - place) + 1));
    const count = readSync(descriptor, piece, 0, piece.length, place);
    place += count;
    text = place === count ? piece.subarray(0, count) : Buffer.concat([text, piece.subarray(0, count)]);
    const ended = count === 0;
    for (let end = text.indexOf(10); end !== -1 || ended; end = text.indexOf(10)) {
      const value = parse(text.subarray(0, end === -1 ? text.length : end).toString());
      if (value !== undefined || end === -1) return value;
      text = text.subarray(end + 1);
    }
  }
  return undefined;
}

/** How far back from the end a last line is searched; no entry of pi is longer. */
const MAX_LAST_LINE_BYTES = 64 * 1024 * 1024;

/**
 * The id of the last entry in a Session file: null when only the header is there, undefined when it cannot be told
 * (torn, foreign or too long a line).
 *
 * @throws the system's error when the file is missing or unreadable
 */
export function readLastEntryId(file: string): string | null | undefined {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const { size } = fstatSync(descriptor);
    for (let length = READ_BYTES; ; length *= 4) {
      const start = Math.max(0, size - length);
      const tail = Buffer.alloc(size - start);
      const text = tail
        .subarray(0, readSync(descriptor, tail, 0, tail.length, start))
        .toString()
        .trimEnd();
      const newline = text.lastIndexOf('\n');
      if (newline !== -1 || start === 0) return entryId(parse(text.slice(newline + 1)));
      if (length >= MAX_LAST_LINE_BYTES) return undefined;
    }
  } finally {
    closeSync(descriptor);
  }
}

function entryId(entry: unknown): string | null | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined;
  if ('type' in entry && entry.type === 'session') return null;
  return 'id' in entry && typeof entry.id === 'string' ? entry.id : undefined;
}

function parse(line: string): unknown {
  try {
    return line.trim() === '' ? undefined : JSON.parse(line);
  } catch {
    return undefined;
  }
}
