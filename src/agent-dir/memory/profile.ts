/**
 * The user's profile as text: Markdown that people write too, read as a row of entries (W11). An entry is a list item with
 * all that is indented below it, or a paragraph, a heading, a fenced block. Put together again they are the text, byte
 * for byte.
 */
import { OperationError, UsageError } from '../../lib/errors.ts';

/** The profile holds no such text. */
export class NotInProfileError extends OperationError {
  constructor(text: string) {
    super(`the profile does not hold "${shortened(text)}"`, { hint: 'pi-work memory show prints all of it' });
  }
}

/** More than one entry holds the text, so it is not clear which is meant. */
export class AmbiguousTextError extends OperationError {
  constructor(text: string, count: number) {
    super(`${count} entries of the profile hold "${shortened(text)}"`, {
      hint: 'give more of the one that is meant',
    });
  }
}

const ITEM = /^(?:[-*+]|\d{1,9}[.)])(?:\s+|$)/;
const FENCE = /^\s{0,3}(`{3,}|~{3,})/;
const MARKUP = /^(?:[-*+>#|]|\d{1,9}[.)]\s|`{3}|~{3})/;

/** The entries of a text, each with the empty lines behind it. */
export function entriesOfText(text: string): string[] {
  const entries: string[] = [];
  let current = '';
  let fence: Fence | undefined;
  let blank = false;
  const begin = (): void => {
    if (current !== '') entries.push(current);
    current = '';
  };
  for (const line of text.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
    const empty = line.trim() === '';
    if (fence?.inItem && !empty && !/^\s/.test(line)) fence = undefined;
    if (fence === undefined && !empty && startsEntry(line, current, blank)) begin();
    current += line;
    fence = fenceAfter(line, fence, current);
    blank = empty;
  }
  begin();
  return entries;
}

function startsEntry(line: string, current: string, blank: boolean): boolean {
  if (current.trim() === '') return false;
  if (ITEM.test(line) || line.startsWith('#')) return true;
  if (/^\s/.test(line)) return blank && !isItem(current);
  return blank || current.trimStart().startsWith('#');
}

interface Fence {
  readonly mark: string;
  /** It ends with the list item that it began in, also where nobody has closed it. */
  readonly inItem: boolean;
}

/**
 * The fence that is open behind a line; it is closed by one of its own kind.
 *
 * @param entry what the line belongs to
 */
function fenceAfter(line: string, open: Fence | undefined, entry: string): Fence | undefined {
  const mark = FENCE.exec(open === undefined ? line.replace(ITEM, '') : line)?.[1];
  if (mark === undefined) return open;
  if (open === undefined) return { mark, inItem: isItem(entry) && (/^\s/.test(line) || ITEM.test(line)) };
  return mark.startsWith(open.mark) ? undefined : open;
}

/** With the end of a fence that was left open, which would take in whatever is added later. */
function fenced(text: string): string {
  const entry = entriesOfText(text).at(-1) ?? '';
  let open: Fence | undefined;
  for (const line of entry.split('\n')) open = fenceAfter(line, open, entry);
  return open === undefined || open.inItem ? text : `${text}\n${open.mark}`;
}

function isItem(entry: string): boolean {
  return ITEM.test(entry.trimStart());
}

/** What an entry says, without how it is written: two that say the same are one. */
export function saying(entry: string): string {
  return entry.trim().replace(ITEM, '').replace(/\s+/g, ' ').trim();
}

/** @throws UsageError when there is nothing to add */
export function withEntry(profile: string, text: string): string {
  const given = fenced(cleaned(text));
  if (saying(given) === '') throw new UsageError('there is nothing to remember');
  const known = entriesOfText(profile);
  if (known.some((entry) => saying(entry) === saying(given))) return profile;
  const entry = asEntry(given);
  const before = normalized(profile);
  if (before === '') return `${entry}\n`;
  const list = ITEM.test(entry) && isItem(known.at(-1) ?? '');
  return `${before}${list ? '' : '\n'}${entry}\n`;
}

function asEntry(text: string): string {
  return MARKUP.test(text) ? text : `- ${text.replace(/\n(?=[^\n])/g, '\n  ')}`;
}

/**
 * Replaces a text where it stands; one that is an entry's whole saying means that entry.
 *
 * @throws NotInProfileError, AmbiguousTextError, UsageError
 */
export function withReplaced(profile: string, old: string, text: string): string {
  const [given, wanted] = [cleaned(text), cleaned(old)];
  if (given === '')
    throw new UsageError('there is nothing to put in its place', { hint: 'pi-work memory remove' });
  if (wanted === '') throw new UsageError('there is nothing to replace');
  const entries = entriesOfText(profile);
  const [at] = holders(entries, wanted);
  if (at === undefined) {
    // A repeated call after an interrupted one finds its work done.
    const isDone = entries.some((entry) => entry.includes(given) || saying(entry) === saying(given));
    return isDone && !profile.includes(wanted) ? profile : replacedAcross(profile, wanted, given);
  }
  const entry = entries[at] ?? '';
  if (entry.split(wanted).length > 2) throw new AmbiguousTextError(wanted, 2);
  entries[at] = entry.includes(wanted) ? entry.replace(wanted, () => given) : rewritten(entry, given);
  return normalized(entries.join(''));
}

/** Of an entry that says the text in other lines, or with other spaces, all is replaced but its bullet. */
function rewritten(entry: string, text: string): string {
  const bullet = ITEM.exec(entry.trimStart())?.[0].trim();
  const end = /\s*$/.exec(entry)?.[0] ?? '';
  return `${bullet === undefined ? text : asEntry(text).replace(/^-(?= )/, bullet)}${end}`;
}

/** A text that reaches over several entries. */
function replacedAcross(profile: string, old: string, text: string): string {
  const count = profile.split(old).length - 1;
  if (count === 0) throw new NotInProfileError(old);
  if (count > 1) throw new AmbiguousTextError(old, count);
  return normalized(profile.replace(old, () => text));
}

/**
 * Removes the entry that holds a text.
 *
 * @returns the rest, and the entry
 * @throws NotInProfileError, AmbiguousTextError
 */
export function withoutEntry(profile: string, text: string): { profile: string; removed: string } {
  const wanted = cleaned(text);
  if (wanted === '') throw new UsageError('there is nothing to remove');
  const entries = entriesOfText(profile);
  const [at] = holders(entries, wanted);
  if (at === undefined) throw new NotInProfileError(text);
  const removed = entries[at] ?? '';
  return { profile: normalized(entries.toSpliced(at, 1).join('')), removed: removed.trim() };
}

/** Where the one entry stands that says exactly this, or else the one that holds it; empty when none does. */
function holders(entries: readonly string[], text: string): number[] {
  const exact = entries.flatMap((entry, at) => (saying(entry) === saying(text) ? [at] : []));
  if (exact.length > 0) return exact.slice(0, 1);
  const found = entries.flatMap((entry, at) => (entry.includes(text) ? [at] : []));
  if (found.length > 1) throw new AmbiguousTextError(text, found.length);
  return found;
}

/** No empty lines at its start, and one line end at its end; nothing for what is only empty lines. */
export function normalized(text: string): string {
  const body = text.replace(/^(?:[^\S\n]*\n)+/, '').trimEnd();
  return body === '' ? '' : `${body}\n`;
}

/** @throws UsageError for what would make the file one that is no text, and so is read by nobody any more */
function cleaned(text: string): string {
  if (text.includes('\0')) throw new UsageError('a text with a zero byte in it cannot be remembered');
  return text.toWellFormed().replace(/\r\n?/g, '\n').trim();
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
