/** Copying and comparing open files: by their bytes, in pieces, wherever their positions stand. */
import { fstatSync, readSync, writeSync } from 'node:fs';

const PIECE = 1024 * 1024;
const one = Buffer.allocUnsafeSlow(PIECE);
const other = Buffer.allocUnsafeSlow(PIECE);

/** Copies the first `length` bytes, or what there is of them: what grows meanwhile is not followed. */
export function copyBytes(from: number, to: number, length: number): void {
  for (let place = 0; place < length; ) {
    const read = readSync(from, one, 0, Math.min(PIECE, length - place), place);
    if (read === 0) return;
    for (let written = 0; written < read; ) {
      written += writeSync(to, one, written, read - written, place + written);
    }
    place += read;
  }
}

/** How one file's bytes relate to another's: it may also be its beginning. */
export type Comparison = 'same' | 'beginning' | 'different';

/** Whether all bytes of `file` are also the first ones of `against`. */
export function compareBytes(file: number, against: number): Comparison {
  const { size } = fstatSync(file);
  const { size: others } = fstatSync(against);
  if (others < size) return 'different';
  for (let place = 0; place < size; ) {
    const read = readSync(file, one, 0, PIECE, place);
    const found = readFully(against, read, place);
    if (read === 0 || found !== read || one.compare(other, 0, read, 0, read) !== 0) return 'different';
    place += read;
  }
  return others === size ? 'same' : 'beginning';
}

function readFully(fd: number, length: number, place: number): number {
  let total = 0;
  while (total < length) {
    const read = readSync(fd, other, total, length - total, place + total);
    if (read === 0) break;
    total += read;
  }
  return total;
}
