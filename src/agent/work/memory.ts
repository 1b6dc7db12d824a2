import { hostname } from 'node:os';
import {
  editMemory,
  type MemoryEdit,
  type MemoryResult,
  memoryBudget,
  readMemory,
} from '../../agent-dir/index.ts';
import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { readStandardInput } from '../../lib/standard-input.ts';
import { agentDir } from './work-root.ts';

const MAX_INPUT_BYTES = 256 * 1024;

interface Output {
  json?: boolean;
}

/** Changes the profile and says what it is now (W11). */
export async function edit(wanted: MemoryEdit, { json = false }: Output): Promise<number> {
  const holder = {
    pid: process.pid,
    host: process.env.PI_SANDBOX_NAME ?? hostname(),
    startedAt: new Date().toISOString(),
    what: 'an edit of the profile',
  };
  const result = await editMemory(agentDir(), wanted, { budget: memoryBudget(process.env), holder });
  if (json) {
    const { changed, bytes, shards, removed } = result;
    process.stdout.write(`${jsonText({ version: 1, changed, bytes, shards, removed }, 2)}\n`);
  } else process.stdout.write(`${safeForTerminal(wordsFor(result), { lines: true })}\n`);
  return 0;
}

function wordsFor({ changed, removed, shards, bytes }: MemoryResult): string {
  const done = removed === undefined ? (changed ? 'remembered' : 'it was so already') : `removed: ${removed}`;
  const parts = shards === 1 ? 'one part' : `${shards} parts`;
  const where = shards === 0 ? 'USER.md' : `${parts}, see okf-memory/user-preferences/index.okf.md`;
  return `${done} (${bytes} bytes in ${where})`;
}

/** Prints the whole profile, from wherever its parts are. */
export async function show({ json = false }: Output): Promise<number> {
  const { profile, bytes, shards } = await readMemory(agentDir());
  if (json) process.stdout.write(`${jsonText({ version: 1, profile, bytes, shards }, 2)}\n`);
  else process.stdout.write(safeForTerminal(profile, { lines: true }));
  return 0;
}

/** The words of a command line as one text; a single `-` stands for standard input. */
export async function textOf(words: readonly string[]): Promise<string> {
  if (words.length !== 1 || words[0] !== '-') return words.join(' ');
  return readStandardInput(process.stdin, MAX_INPUT_BYTES);
}
