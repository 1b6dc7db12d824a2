import { chmodSync, lstatSync, readdirSync, rmSync } from 'node:fs';

/**
 * Takes the right to write from a folder and all below it. Whoever owns the files can give it back: this keeps programs
 * from changing by accident what every Session reads (S8), and no more.
 */
export function makeReadOnly(path: string): void {
  changeTree(path, (mode) => mode & ~0o222);
}

/** Removes a folder, also one that {@link makeReadOnly} was called for. */
export function removeTree(path: string): void {
  changeTree(path, (mode) => mode | 0o700);
  rmSync(path, { recursive: true, force: true });
}

/** Folders before what is in them: so a folder that may not be entered can be opened up on the way down. */
function changeTree(path: string, change: (mode: number) => number): void {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  if (facts === undefined || facts.isSymbolicLink()) return;
  chmodSync(path, change(facts.mode & 0o777));
  if (!facts.isDirectory()) return;
  for (const name of readdirSync(path)) changeTree(`${path}/${name}`, change);
}
