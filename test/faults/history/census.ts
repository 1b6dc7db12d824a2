/**
 * Looks at directories of Sessions after a fault. It shares no code with the room that is tried: its own walk (no link
 * is ever followed), its own reading of names, and files are compared by their bytes.
 */
import { createHash } from 'node:crypto';
import { closeSync, lstatSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { join } from 'node:path';

export interface Seen {
  /** Below the root. */
  path: string;
  kind: 'file' | 'directory' | 'link' | 'other';
  /** Of a file its size and SHA-256, of a link where it leads. */
  content: string;
  size: number;
  modified: bigint;
}

/** Everything below a directory, in order. Without one there is nothing. */
export function look(root: string): Seen[] {
  return [...walk(root, '')];
}

function* walk(root: string, below: string): Generator<Seen> {
  let entries: string[];
  try {
    entries = readdirSync(join(root, below)).sort();
  } catch {
    return;
  }
  for (const name of entries) {
    const path = below === '' ? name : `${below}/${name}`;
    const facts = lstatSync(join(root, path), { bigint: true });
    const seen = { path, size: Number(facts.size), modified: facts.mtimeNs };
    if (facts.isFile()) yield { ...seen, kind: 'file', content: digest(join(root, path)) };
    else if (facts.isSymbolicLink()) yield { ...seen, kind: 'link', content: readlinkSync(join(root, path)) };
    else if (facts.isDirectory()) {
      yield { ...seen, kind: 'directory', content: '' };
      yield* walk(root, path);
    } else yield { ...seen, kind: 'other', content: '' };
  }
}

/** Of the first `length` bytes, or of all. */
export function digest(file: string, length = Number.POSITIVE_INFINITY): string {
  const hash = createHash('sha256');
  const descriptor = openSync(file, 'r');
  const piece = Buffer.allocUnsafe(64 * 1024);
  try {
    for (let left = length; left > 0; ) {
      const count = readSync(descriptor, piece, 0, Math.min(left, piece.length), null);
      if (count === 0) break;
      hash.update(piece.subarray(0, count));
      left -= count;
    }
  } finally {
    closeSync(descriptor);
  }
  return hash.digest('hex');
}

/**
 * `<date>/<folder>/<file>.trashed` below `.trash`, or without the folder; a collision may have put a number in between.
 * Where a hostile process was killed, a directory may still be called `.aside`.
 */
const TRASHED =
  /^\.trash(?:\.aside)?\/\d{4}-\d\d-\d\d(?:\.aside)?\/(?:[^/]+\/)?([^/]+\.jsonl)(?:[.-]\d+)?\.trashed$/;
const PRESENT = /^(?!\.(?:trash|history)[./])(?:[^/]+\/)?([^/]+\.jsonl)$/;

export type Place = 'present' | 'trashed';

/** Where a file with this path is a Session, and of which file name; undefined for what is none. */
export function placeOf(path: string): { name: string; place: Place } | undefined {
  const present = PRESENT.exec(path)?.[1];
  if (present !== undefined) return { name: present, place: 'present' };
  const trashed = TRASHED.exec(path)?.[1];
  return trashed === undefined ? undefined : { name: trashed, place: 'trashed' };
}
