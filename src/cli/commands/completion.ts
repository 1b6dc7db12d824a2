import type { Command } from 'commander';
import { UsageError } from '../../lib/errors.ts';
import { completionLines, liveCandidates } from '../completion/live.ts';
import { SCRIPTS } from '../completion/scripts.ts';
import { wantedAt } from '../completion/wanted.ts';

/** A shell waits for what we say: names that cannot be had in this time are left out. */
const LIVE_MS = 2_000;

/** Prints the script by which a shell completes the command's words. */
export function completion(shell: string | undefined): number {
  const found = Object.entries(SCRIPTS).find(([name]) => name === shell);
  if (found === undefined)
    throw new UsageError(`there is no completion for ${shell}: allowed are bash, zsh, fish`);
  process.stdout.write(found[1]);
  return 0;
}

/** Answers a shell's script: candidates for the last of the words, one a line. Silent when nothing can be known. */
export async function complete(program: Command, words: readonly string[]): Promise<number> {
  const { fixed, live, paths } = wantedAt(program, words);
  const late = new Promise<[]>((resolve) => setTimeout(() => resolve([]), LIVE_MS));
  const found = live === undefined ? [] : await Promise.race([liveCandidates(live).catch(() => []), late]);
  const text = completionLines([...fixed, ...found], words.at(-1) ?? '', paths);
  await new Promise<void>((resolve) => process.stdout.write(text, () => resolve()));
  // The engine may still be asked for what comes too late.
  process.exit(0);
}
