/**
 * Some Sessions on their way to a domain (S12): copied under another name, made durable, compared, given their name,
 * made durable again, and only then taken from where they were. Killed between any two of these, a Session is in one of
 * the two places under its name, or whole in both; the next run then finds its copy and takes the old one away.
 */
import { closeSync, constants, fchmodSync, fchownSync, fstatSync, fsync } from 'node:fs';
import { promisify } from 'node:util';
import { statChild, unlinkChild } from '../../lib/directory-entries.ts';
import { type DirectoryHandle, openChildFile } from '../../lib/directory-handle.ts';
import { hasCode, messageOf, OperationError } from '../../lib/errors.ts';
import { compareBytes, copyBytes } from '../transfer/compare.ts';
import { type Destination, folderIn, place, placingFor } from '../transfer/destination.ts';
import { copyTimes } from './exact-times.ts';
import type { FoundFile } from './walk.ts';

const flush = promisify(fsync);
const CREATE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL;

/** Nothing more can be written there: to go on with the next Session has no sense. */
export class NoSpaceError extends OperationError {}

/** A Session in work. Its source and its copy are open. */
interface Item {
  readonly file: FoundFile & { fd: number };
  readonly folder: DirectoryHandle;
  /** The copy in the stage, or the whole one that was in the domain already. */
  readonly copy: number;
  readonly there: boolean;
  name: string;
  state: 'copied' | 'placed' | 'moved' | 'failed';
  /** Descriptors that are still open. */
  readonly open: Set<number>;
  readonly release: () => void;
}

export interface Batch {
  readonly destination: Destination;
  readonly items: Item[];
  /** The domain's folders by name; `''` is the sessions directory itself. */
  readonly folders: Map<string, DirectoryHandle>;
  bytes: number;
}

/** What became of each Session. */
export interface Outcome {
  moved(file: FoundFile, facts: { there: boolean; name: string }): void;
  failed(file: FoundFile, reason: string): void;
}

export type Between = (step: string) => void;

export function newBatch(destination: Destination): Batch {
  return { destination, items: [], folders: new Map(), bytes: 0 };
}

/**
 * Copies a Session and takes over its open file, which is closed with the batch.
 *
 * @throws NoSpaceError; any other failure is the outcome of this Session
 */
export function addToBatch(batch: Batch, file: FoundFile & { fd: number }, outcome: Outcome): void {
  const release = file.folder.use();
  try {
    const folder = folderOf(batch, file.folder.name);
    const { name, existing } = placingFor(folder, file.name, file.fd, 'legacy');
    const copy = existing ?? copyToStage(batch.destination, file);
    const open = new Set([file.fd, copy]);
    batch.items.push({
      file,
      folder,
      copy,
      there: existing !== undefined,
      name,
      state: 'copied',
      open,
      release,
    });
    if (existing === undefined) batch.bytes += file.stats.size;
  } catch (error) {
    closeSync(file.fd);
    release();
    outcome.failed(file, messageOf(error));
    if (isFull(error)) throw new NoSpaceError(messageOf(error), { cause: error });
  }
}

function folderOf(batch: Batch, name: string | undefined): DirectoryHandle {
  if (name === undefined) return batch.destination.directory;
  const folder = batch.folders.get(name) ?? folderIn(batch.destination, name);
  batch.folders.set(name, folder);
  return folder;
}

/** Named like the descriptor of its source, for {@link copyTimes}. */
function copyToStage({ stage, owner }: Destination, file: FoundFile & { fd: number }): number {
  const name = String(file.fd);
  const { fd } = openChildFile(stage, name, CREATE);
  try {
    copyBytes(file.fd, fd, file.stats.size);
    fchownSync(fd, owner.uid, owner.gid);
    fchmodSync(fd, 0o600);
    return fd;
  } catch (error) {
    closeSync(fd);
    unlinkChild(stage, name);
    throw error;
  }
}

/**
 * Brings what was copied to its end. Never throws for a single Session.
 *
 * @throws NoSpaceError when one could not be made durable for lack of space; the others are finished
 */
export async function commitBatch(batch: Batch, outcome: Outcome, between: Between): Promise<void> {
  const { destination, items, folders } = batch;
  let full: NoSpaceError | undefined;
  const fail = (item: Item, error: unknown): void => {
    item.state = 'failed';
    if (isFull(error)) full ??= new NoSpaceError(messageOf(error), { cause: error });
    outcome.failed(item.file, messageOf(error));
  };
  try {
    between('copied');
    const copies = items.filter(({ there }) => !there);
    await copyTimes(
      destination.stage,
      copies.map(({ file, copy }) => ({ source: file.fd, copy })),
    );
    between('dated');
    await each(items, 'copied', fail, ({ copy }) => flush(copy));
    between('durable');
    await each(items, 'copied', fail, (item) => settle(item, destination, between));
    const directories = [destination.directory, ...folders.values()];
    const durable = await Promise.allSettled(directories.map((directory) => flushDirectory(directory)));
    const problem = durable.find((result) => result.status === 'rejected');
    if (problem !== undefined) for (const item of of(items, 'placed')) fail(item, problem.reason);
    between('placed');
    await each(items, 'placed', fail, (item) => removeSource(item, between));
    for (const { file, there, name } of of(items, 'moved')) outcome.moved(file, { there, name });
  } finally {
    closeBatch(batch);
  }
  if (full !== undefined) throw full;
}

function of(items: readonly Item[], state: Item['state']): Item[] {
  return items.filter((item) => item.state === state);
}

async function each(
  items: readonly Item[],
  state: Item['state'],
  fail: (item: Item, error: unknown) => void,
  step: (item: Item) => Promise<void> | void,
): Promise<void> {
  const steps = of(items, state).map(async (item) => {
    try {
      await step(item);
    } catch (error) {
      fail(item, error);
    }
  });
  await Promise.all(steps);
}

/** Compares what was written with what is to go, and gives it its name. */
function settle(item: Item, { stage }: Destination, between: Between): void {
  const { file, folder, copy } = item;
  if (hasChanged(file)) throw new OperationError('something still writes to it');
  const same = compareBytes(file.fd, copy);
  if (same === 'different' || (same === 'beginning' && !item.there)) {
    throw new OperationError('its copy is not the same');
  }
  if (!item.there) {
    for (;;) {
      try {
        place(stage, String(file.fd), folder, item.name);
        break;
      } catch (error) {
        if (!hasCode(error, 'EEXIST')) throw error;
        const { name, existing } = placingFor(folder, file.name, file.fd, 'legacy');
        // The same Session appeared meanwhile: whose copy it is cannot be told, so both stay until the next run.
        if (existing !== undefined) {
          closeSync(existing);
          throw new OperationError('another process moves it as well');
        }
        item.name = name;
      }
    }
    between('linked');
  }
  item.state = 'placed';
}

function removeSource(item: Item, between: Between): void {
  const { folder, name, fd } = item.file;
  const there = statChild(folder.directory, name);
  const { ino, dev } = fstatSync(fd);
  if (there?.ino !== ino || there.dev !== dev || hasChanged(item.file)) {
    throw new OperationError('it was replaced while it was copied');
  }
  // A file that is still open when it loses its name costs the file system's journal as much again.
  close(item);
  unlinkChild(folder.directory, name);
  folder.thinned = true;
  item.state = 'moved';
  between('removed');
}

function hasChanged({ fd, stats }: FoundFile & { fd: number }): boolean {
  const now = fstatSync(fd);
  return now.size !== stats.size || now.mtimeMs !== stats.mtimeMs;
}

function closeBatch({ destination, items, folders }: Batch): void {
  for (const item of items) {
    const { file, state, there, release } = item;
    close(item);
    // Placed ones have left the stage.
    if (state === 'failed' && !there && statChild(destination.stage, String(file.fd)) !== undefined) {
      unlinkChild(destination.stage, String(file.fd));
    }
    release();
  }
  for (const folder of folders.values()) folder.close();
  items.length = 0;
  folders.clear();
}

function close({ open }: Item): void {
  for (const fd of open) closeSync(fd);
  open.clear();
}

async function flushDirectory(directory: DirectoryHandle): Promise<void> {
  try {
    await flush(directory.fd);
  } catch (error) {
    if (!hasCode(error, 'EINVAL', 'EBADF')) throw error;
  }
}

/** No room, or no right to write at all: the next Session would fare no better. */
export function isFull(error: unknown): boolean {
  return hasCode(error, 'ENOSPC', 'EDQUOT', 'EROFS');
}
