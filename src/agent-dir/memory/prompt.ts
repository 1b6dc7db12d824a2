/** What pi's prompt gets of the profile (W11): `USER.md`, bounded, and where its links lead. */
import { messageOf } from '../../lib/errors.ts';
import type { AgentDir } from '../agent-directory.ts';
import { rootFile } from '../places.ts';
import { readText } from './files.ts';
import { normalized } from './profile.ts';

/** A hand-written file may be longer than the budget; beyond this it is not even read. */
const MAX_READ_BYTES = 1024 * 1024;

/**
 * The text for the prompt; undefined when there is no profile. What cannot be read, or not all of it, says so in the
 * text: a model that knows that something is missing can look.
 */
export async function promptText(agentDir: AgentDir, budget: number): Promise<string | undefined> {
  const path = rootFile(agentDir, 'USER.md');
  let text: string;
  try {
    text = normalized((await readText(path, MAX_READ_BYTES)) ?? '');
  } catch (error) {
    return `The user's profile could not be read: ${messageOf(error)}`;
  }
  if (text === '') return undefined;
  const { kept, left } = bounded(text, budget);
  const rest = left === 0 ? '' : `\n(${left} more bytes are in ${path}.)\n`;
  return `What the user wants, and what is known about them, from ${path}:\n\n${kept}${rest}`;
}

/** Whole lines, as many as fit. */
function bounded(text: string, budget: number): { kept: string; left: number } {
  if (Buffer.byteLength(text) <= budget) return { kept: text, left: 0 };
  let kept = '';
  for (const line of text.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
    if (Buffer.byteLength(kept) + Buffer.byteLength(line) > budget) break;
    kept += line;
  }
  return { kept, left: Buffer.byteLength(text) - Buffer.byteLength(kept) };
}
