/**
 * Sign-ins and trust decisions on their way into a volume and out of it (S15). What is there stays: entries that are
 * missing are added. The volume is written by sandboxes (rule 8): every step starts from an open directory.
 */
import { closeSync, constants, fstatSync, fsyncSync, readFileSync, writeFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { TRUST_LOCK } from '../../agent-dir/index.ts';
import { renameChild, statChild, syncDirectory, unlinkChild } from '../../lib/directory-entries.ts';
import {
  type DirectoryHandle,
  makeChildDirectory,
  openChildDirectory,
  openChildFile,
  openDirectory,
} from '../../lib/directory-handle.ts';
import { LimitError, messageOf, OperationError } from '../../lib/errors.ts';
import { takeLock } from '../../lib/kernel-lock.ts';
import {
  MAX_SIGN_IN_BYTES,
  SIGN_IN_PLACES,
  type SignInName,
  type SignInOutcome,
  SignIns,
  type TransferRequest,
} from '../../wire/index.ts';
import { underPiLock } from '../keeper/pi-lock.ts';
import { mergeEntries } from './merge-entries.ts';

const LOCK_WAIT_MS = 5_000;
/** Written under a lock, so one name is enough; what a killed one left is replaced. */
const FRESH = '.pi-sandbox-sign-in-new';

export async function receiveSignIns(
  { root, replace }: Extract<TransferRequest, { verb: 'receive-sign-ins' }>,
  input: Readable,
): Promise<SignInOutcome[]> {
  const given = SignIns.parse(JSON.parse(await textOf(input)));
  const outcomes: SignInOutcome[] = [];
  for (const name of names(given)) {
    const content = given[name];
    if (content !== undefined) outcomes.push(await receive(root, name, content, replace));
  }
  return outcomes;
}

function names(given: SignIns): SignInName[] {
  return (['auth.json', 'trust.json', 'mcp-auth.json'] as const).filter((name) => given[name] !== undefined);
}

async function textOf(input: Readable): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of input) {
    pieces.push(Buffer.from(piece));
    length += piece.length;
    if (length > 4 * MAX_SIGN_IN_BYTES) throw new LimitError('more sign-ins were sent than fit');
  }
  return Buffer.concat(pieces).toString('utf8');
}

async function receive(
  root: string,
  name: SignInName,
  content: string,
  replace: boolean,
): Promise<SignInOutcome> {
  let directory: DirectoryHandle;
  try {
    directory = placeOf(root, name, true);
  } catch (error) {
    return blocked(name, error);
  }
  try {
    return await alone(directory, name, () => put(directory, name, content, replace));
  } catch (error) {
    if (error instanceof OperationError && !isFull(error)) return blocked(name, error);
    throw error;
  } finally {
    directory.close();
  }
}

function blocked(name: SignInName, error: unknown): SignInOutcome {
  return { name, outcome: 'blocked', differing: [], reason: messageOf(error) };
}

function isFull(error: OperationError): boolean {
  return 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}

/** Each file under the lock that those who write it take: pi's own, or for trust decisions the supervisors'. */
async function alone<T>(directory: DirectoryHandle, name: SignInName, work: () => T): Promise<T> {
  if (name !== 'trust.json') return underPiLock(directory.at(name), work);
  const lock = await takeLock(directory.at(TRUST_LOCK), { waitMs: LOCK_WAIT_MS });
  try {
    return work();
  } finally {
    lock.release();
  }
}

function put(directory: DirectoryHandle, name: SignInName, content: string, replace: boolean): SignInOutcome {
  const before = read(directory, name);
  if (before === content) return { name, outcome: 'there', differing: [] };
  if (before === undefined) {
    write(directory, name, content);
    return { name, outcome: 'written', differing: [] };
  }
  const { text, differing, added } = mergeEntries(before, content, replace);
  if (text === undefined) return { name, outcome: differing.length > 0 ? 'kept' : 'there', differing };
  write(directory, name, text);
  return { name, outcome: added === 'all' ? 'written' : 'merged', differing };
}

function write(directory: DirectoryHandle, name: string, text: string): void {
  if (statChild(directory, FRESH) !== undefined) unlinkChild(directory, FRESH);
  const { fd } = openChildFile(directory, FRESH, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL);
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameChild(directory, FRESH, directory, name);
  syncDirectory(directory);
}

/** @throws OperationError for what is no regular file, or too long */
function read(directory: DirectoryHandle, name: string): string | undefined {
  if (statChild(directory, name) === undefined) return undefined;
  const { fd } = openChildFile(directory, name);
  try {
    if (fstatSync(fd).size > MAX_SIGN_IN_BYTES)
      throw new OperationError(`${name} is longer than the ${MAX_SIGN_IN_BYTES} bytes that are read of it`);
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

export function sendSignIns({ root, names: wanted }: Extract<TransferRequest, { verb: 'send-sign-ins' }>): {
  content: SignIns;
  problems: { name: string; reason: string }[];
} {
  const content: SignIns = {};
  const problems: { name: string; reason: string }[] = [];
  for (const name of wanted) {
    try {
      const text = readFrom(root, name);
      if (text !== undefined) content[name] = text;
    } catch (error) {
      problems.push({ name, reason: messageOf(error) });
    }
  }
  return { content, problems };
}

function readFrom(root: string, name: SignInName): string | undefined {
  const directory = placeOf(root, name, false);
  try {
    return read(directory, name);
  } finally {
    directory.close();
  }
}

function placeOf(root: string, name: SignInName, make: boolean): DirectoryHandle {
  let directory = openDirectory(root);
  for (const part of SIGN_IN_PLACES[name]) {
    const parent = directory;
    try {
      directory = make ? makeChildDirectory(parent, part) : openChildDirectory(parent, part);
    } finally {
      parent.close();
    }
  }
  return directory;
}
