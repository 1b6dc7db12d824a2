/**
 * A hostile session: again and again it moves a directory aside, puts a link to another place where it stood, and moves
 * it back. Arguments: where the links lead, then the directories. Ends when its input does, with everything in place.
 */
import { existsSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';

const [target = '', ...directories] = process.argv.slice(2);
let running = true;
process.stdin
  .on('end', () => {
    running = false;
  })
  .resume();
process.stdout.write('ready\n');
for (let round = 0; running; round++) {
  const directory = directories[round % directories.length] ?? '';
  swap(directory);
  if (round % 16 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
}

function swap(directory: string): void {
  const aside = `${directory}.aside`;
  if (!existsSync(directory)) return;
  try {
    renameSync(directory, aside);
  } catch {
    return;
  }
  try {
    symlinkSync(target, directory);
    spin();
    unlinkSync(directory);
  } catch {
    // Somebody made the directory anew in between: then both stay, and what is in either counts.
  }
  spin();
  try {
    renameSync(aside, directory);
  } catch {
    // As above.
  }
}

/** Longer than a system call, shorter than a turn of the event loop. */
function spin(): void {
  const end = performance.now() + Math.random() * 0.4;
  while (performance.now() < end);
}
