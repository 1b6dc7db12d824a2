/**
 * How a profile that has outgrown `USER.md` is laid down in parts (W11): a function of its text and of nothing else, so
 * that whoever writes it again after an interruption writes the same bytes under the same names.
 */
import { LimitError } from '../../lib/errors.ts';
import { entriesOfText } from './profile.ts';

/** A shard is at most so large, its head included. */
export const SHARD_BYTES = 8 * 1024;
const HEAD_BYTES = 256;
/** More is no profile (rule 7). */
export const MAX_SHARDS = 64;
export const INDEX_NAME = 'index.okf.md';
const SUMMARY_LENGTH = 100;

export const POINTER = `# User profile

It has outgrown this file: the index of all its parts is [okf-memory/user-preferences/index.okf.md](okf-memory/user-preferences/index.okf.md).
Read the parts that a task needs. To change it use the \`memory\` tool or \`pi-work memory\`, not this file.
`;

export function shardName(number: number): string {
  return `user-preferences-${number}.okf.md`;
}

/** A part of a text. */
interface Part {
  readonly text: string;
  /** Its last line goes on in the next part. */
  readonly joined: boolean;
}

/**
 * The contents of all shards, in order.
 *
 * @throws LimitError when there would be more than {@link MAX_SHARDS}
 */
export function renderShards(profile: string): string[] {
  const parts = partsOf(profile);
  if (parts.length > MAX_SHARDS) throw new LimitError(`the profile is longer than ${MAX_SHARDS} parts`);
  return parts.map(({ text, joined }, at) => {
    const more = joined ? 'joined: true\n' : '';
    const head = `---\ntype: user-preferences\ntitle: User preferences, part ${at + 1}\n${more}---\n\n`;
    return `${head}${text}${joined ? '\n' : ''}`;
  });
}

/** The text of a shard, also of one that a person has changed: without a head all of it is text. */
export function shardText(content: string): string {
  const head = /^---\n(?:[^\n]*\n){0,16}?---\n\n?/.exec(content)?.[0] ?? '';
  const text = content.slice(head.length);
  return /^joined: true$/m.test(head) ? text.replace(/\n$/, '') : text;
}

export function renderIndex(profile: string): string {
  const lines = partsOf(profile).map(({ text }, at) => {
    const name = shardName(at + 1);
    return `- [${name}](${name}): ${summary(text)}\n`;
  });
  const list = lines.length === 0 ? 'There are none at present.\n' : lines.join('');
  return `---
type: index
title: User preferences
---

# User preferences

What the user wants, and what is known about them. Each part begins as said here.

${list}`;
}

/** Whole entries to a part while they fit; an entry that fits into none is parted between lines, and a line within. */
function partsOf(profile: string): Part[] {
  const most = SHARD_BYTES - HEAD_BYTES;
  const pieces = entriesOfText(profile).flatMap((entry) =>
    size(entry) <= most
      ? [entry]
      : linesOf(entry).flatMap((line) => (size(line) <= most ? [line] : cut(line, most))),
  );
  const parts: string[] = [];
  let current = '';
  for (const piece of pieces) {
    if (current !== '' && size(current) + size(piece) > most) {
      parts.push(current);
      current = '';
    }
    current += piece;
  }
  if (current !== '') parts.push(current);
  return parts.map((text) => ({ text, joined: !text.endsWith('\n') }));
}

function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** Never within a character. */
function cut(line: string, most: number): string[] {
  const pieces: string[] = [];
  let piece = '';
  let length = 0;
  for (const character of line) {
    const bytes = size(character);
    if (length + bytes > most) {
      pieces.push(piece);
      piece = '';
      length = 0;
    }
    piece += character;
    length += bytes;
  }
  return piece === '' ? pieces : [...pieces, piece];
}

function size(text: string): number {
  return Buffer.byteLength(text);
}

function summary(text: string): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  const characters = [...line];
  return characters.length > SUMMARY_LENGTH ? `${characters.slice(0, SUMMARY_LENGTH - 1).join('')}…` : line;
}
