/** One Session for a person: its facts, and what was said in it, cut. */
import { closeSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { systemClock } from '../lib/clock.ts';
import { statChild } from '../lib/directory-entries.ts';
import { openChildFile, openDirectory } from '../lib/directory-handle.ts';
import { OperationError } from '../lib/errors.ts';
import { readJsonLines } from '../lib/jsonl.ts';
import { safeForTerminal } from '../lib/redact.ts';
import { readSessionHeader } from '../pi/index.ts';
import { dateOf } from './dates.ts';
import { inFolder } from './folders.ts';
import { originalPlace, placePath } from './layout.ts';
import { sessionRow } from './rows.ts';
import { select } from './select.ts';
import type { ListOptions } from './summary.ts';
import type { History, OutlineEntry, ShownSession } from './types.ts';

/** Read at most; a Session of 50 MB is shown whole. */
const MAX_BYTES = 256 * 1024 * 1024;
const FIRST_ENTRIES = 20;
const LAST_ENTRIES = 40;
const MAX_TEXT = 500;
/** Kinds of entries that are counted apart. */
const MOST_KINDS = 50;

/** @throws UsageError (none, or several), FileError */
export async function showSession(
  history: History,
  selector: string,
  options: ListOptions,
): Promise<ShownSession> {
  const now = (options.clock ?? systemClock).now().getTime();
  const root = openDirectory(history.sessions);
  try {
    const { place, file } = await select(root, selector, 'either', options);
    const facts = inFolder(root, place, (at) => {
      const stats = statChild(at, place.name);
      if (!stats?.isFile()) throw new OperationError(safeForTerminal(`${file} was removed meanwhile`));
      const address = at.at(place.name);
      return {
        row: sessionRow(history, { kind: 'file', at, place, stats }, options, now),
        header: readSessionHeader(address),
        fd: openChildFile(at, place.name).fd,
      };
    });
    const { row, header, fd } = facts;
    const original = place.day === undefined ? undefined : originalPlace(place);
    return {
      ...row,
      expired: row.expired && place.day === undefined,
      version: header?.version,
      created: dateOf(header?.timestamp),
      parentSession: header?.parentSession,
      original: original && placePath(original),
      ...(await readOutline(fd)),
    };
  } finally {
    root.close();
  }
}

type Outline = Pick<ShownSession, 'entries' | 'damagedLines' | 'outline' | 'outlineOmitted' | 'truncated'>;

/** Reads the open file to its end, and closes it. */
async function readOutline(fd: number): Promise<Outline> {
  const [entries, first, last]: [Record<string, number>, OutlineEntry[], OutlineEntry[]] = [{}, [], []];
  let [damagedLines, omitted, truncated] = [0, 0, false];
  let handle: FileHandle | undefined;
  try {
    // By the kernel's own name for it: whatever its directory is by now, it is this file.
    handle = await open(`/proc/self/fd/${fd}`);
    for await (const line of readJsonLines(handle, { maxBytes: MAX_BYTES })) {
      if (line.kind === 'problem') {
        if (line.reason.startsWith('only the first')) truncated = true;
        else damagedLines++;
        continue;
      }
      const { kind, said } = describe(line.value);
      countKind(entries, kind);
      if (!said) continue;
      if (first.length < FIRST_ENTRIES) first.push(said);
      else last.push(said);
      if (last.length <= LAST_ENTRIES) continue;
      last.shift();
      omitted++;
    }
  } finally {
    await handle?.close();
    closeSync(fd);
  }
  return { entries, damagedLines, outline: [...first, ...last], outlineOmitted: omitted, truncated };
}

function countKind(entries: Record<string, number>, kind: string): void {
  const known = Object.hasOwn(entries, kind) || Object.keys(entries).length < MOST_KINDS;
  const key = known ? kind : 'other';
  Object.defineProperty(entries, key, {
    value: (Object.hasOwn(entries, key) ? Number(entries[key]) : 0) + 1,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

function describe(value: unknown): { kind: string; said?: OutlineEntry } {
  const entry = record(value);
  const type = text(entry.type) || 'unknown';
  if (type !== 'message') return { kind: type };
  const message = record(entry.message);
  const role = text(message.role) || 'unknown';
  if (role === 'system') return { kind: role };
  const said = contentText(message).slice(0, MAX_TEXT);
  return { kind: role, said: { at: dateOf(text(entry.timestamp)), role, text: said } };
}

function contentText(message: Record<string, unknown>): string {
  const { content } = message;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return text(message.command);
  return content
    .map((block: unknown) => {
      const { type, text: words, name } = record(block);
      if (type === 'text') return text(words);
      return type === 'toolCall' ? `[${text(name)}]` : `[${text(type)}]`;
    })
    .join(' ');
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 2 * MAX_TEXT) : '';
}
