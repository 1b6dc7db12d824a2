/**
 * What an edit over several files is about to write (W11), laid down whole before the first of them: whoever comes after
 * an interruption writes it to its end, so that no fact is lost or there twice.
 */
import { unlinkSync } from 'node:fs';
import * as z from 'zod/mini';
import { writeFileAtomic } from '../../lib/atomic-file.ts';
import { hasCode, OperationError } from '../../lib/errors.ts';
import { FileError } from '../../lib/file-error.ts';
import type { AgentDir } from '../agent-directory.ts';
import { stateFile } from '../places.ts';
import { readText } from './files.ts';

const VERSION = 1;
/** The longest profile as JSON, which can be six times as long as its text. */
const MAX_BYTES = 8 * 1024 * 1024;

function schema() {
  return z.object({
    version: z.literal(VERSION),
    /** All of the profile, as it is to be. */
    profile: z.string(),
    /** SHA-256 of each file's text at that moment, by its name below the agent directory; no entry for one that is not there. */
    before: z.record(z.string(), z.string()),
  });
}

export interface PendingEdit {
  readonly profile: string;
  readonly before: Readonly<Record<string, string>>;
}

function pathOf(agentDir: AgentDir): string {
  return stateFile(agentDir, 'user-preferences.pending.json');
}

/** @throws OperationError for one that this version does not understand: it may hold what nothing else does */
export async function readPending(agentDir: AgentDir): Promise<PendingEdit | undefined> {
  const path = pathOf(agentDir);
  const text = await readText(path, MAX_BYTES);
  if (text === undefined) return undefined;
  const { data } = z.safeParse(schema(), parsed(text));
  if (data !== undefined) return data;
  throw new OperationError(`${path} is an unfinished edit that this version does not understand`, {
    hint: 'finish it with the version that began it, or move the file away to give that edit up',
  });
}

export async function writePending(agentDir: AgentDir, edit: PendingEdit): Promise<void> {
  await writeFileAtomic(pathOf(agentDir), `${JSON.stringify({ version: VERSION, ...edit })}\n`);
}

export function removePending(agentDir: AgentDir): void {
  const path = pathOf(agentDir);
  try {
    unlinkSync(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw new FileError('remove', path, error);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
