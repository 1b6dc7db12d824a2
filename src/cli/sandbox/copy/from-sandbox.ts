import { fchmodSync, lstatSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Engine } from '../../../engine/index.ts';
import { type DirectoryHandle, openDirectory } from '../../../lib/directory-handle.ts';
import { hasCode, OperationError, UsageError } from '../../../lib/errors.ts';
import type { ListedSandbox } from '../find-sandboxes.ts';
import { type PipedEnd, runPiped } from '../piped-run.ts';
import { type Extraction, extractAll, ownMode, type TarEntry } from './extract.ts';
import { requireNoWayOut } from './project-links.ts';
import { MISSING, SEND, SEND_NAMED } from './scripts.ts';

export interface CopyFrom {
  readonly path: string;
  /** Follow a link in the last component of `path`. */
  readonly follow: boolean;
  readonly onSkipped: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Copies a file or directory of a sandbox to this machine, by the rules of `docker cp` (S15). */
export async function copyFromSandbox(
  engine: Engine,
  sandbox: ListedSandbox,
  { path, follow, onSkipped, signal }: CopyFrom,
  destination: string,
): Promise<void> {
  const { extract } = await import('../../../lib/tar-stream.ts');
  const tar = new PassThrough();
  const stop = new AbortController();
  const running = runPiped(engine, sandbox, {
    command: ['/bin/sh', '-c', SEND, 'cp', path, follow ? '1' : '0'],
    signal: AbortSignal.any([stop.signal, signal]),
    onOutput: (bytes) => write(tar, bytes),
  });
  const sent = running.finally(() => tar.end());
  // Reported by what waits for both.
  sent.catch(() => undefined);
  try {
    const entries = entriesOf(tar.pipe(extract()));
    const first = await entries.next();
    if (first.done === true) return requireSuccess(await sent, path, false);
    const extraction = place(first.value, { path, onSkipped, project: sandbox.project }, destination);
    try {
      await extractAll(chain(first.value, entries), extraction);
    } finally {
      extraction.top.close();
    }
  } catch (error) {
    stop.abort(error);
    await sent.catch(() => undefined);
    throw error;
  }
  requireSuccess(await sent, path, true);
}

/** Hands a tar of it, named after what was asked for, to a stream. */
export async function tarFromSandbox(
  engine: Engine,
  sandbox: ListedSandbox,
  { path, follow, signal }: CopyFrom,
  output: NodeJS.WritableStream,
): Promise<void> {
  let any = false;
  const end = await runPiped(engine, sandbox, {
    command: ['/bin/sh', '-c', SEND_NAMED, 'cp', path, follow ? '1' : '0'],
    signal,
    onOutput: (bytes) => {
      any = true;
      return write(output, bytes);
    },
  });
  requireSuccess(end, path, any);
}

async function* entriesOf(archive: AsyncIterable<TarReaderEntry>): AsyncGenerator<TarEntry, undefined> {
  for await (const entry of archive) yield { header: entry.header, content: entry };
  return undefined;
}

type TarReaderEntry = AsyncIterable<unknown> & Pick<TarEntry, 'header'>;

async function* chain(first: TarEntry, rest: AsyncIterable<TarEntry>): AsyncGenerator<TarEntry> {
  yield first;
  yield* rest;
}

interface Place {
  /** Of what is copied, in the sandbox. */
  readonly path: string;
  readonly onSkipped: (line: string) => void;
  readonly project: string;
}

/** Where the copy goes, once its first entry has told what it is. */
function place({ header }: TarEntry, { path, onSkipped, project }: Place, destination: string): Extraction {
  const target = resolve(destination);
  const isDirectory = header.type === 'directory';
  const name = path === '~' ? 'home' : basename(path);
  const there = kindOf(target);
  if (isDirectory) {
    if (there === 'other')
      throw new UsageError(`${destination} is no directory, and ${path} in the sandbox is one`);
    const into =
      there === 'directory' && !/(^|\/)\.$/.test(path) && name !== '' ? join(target, name) : target;
    const top = directoryAt(into, { destination, project, mode: header.mode });
    return { top, rename: undefined, onSkipped };
  }
  if (there === 'directory')
    return { top: within(project, target, openDirectory(realpathSync(target))), rename: name, onSkipped };
  if (destination.endsWith('/')) throw new UsageError(`there is no directory ${destination}`);
  const top = within(project, dirname(target), parentOf(target, destination));
  return { top, rename: basename(target), onSkipped };
}

function within(project: string, path: string, opened: DirectoryHandle): DirectoryHandle {
  try {
    requireNoWayOut(project, path, opened);
    return opened;
  } catch (error) {
    opened.close();
    throw error;
  }
}

/** The directory that a directory's copy becomes; a link is followed only where the user named it himself. */
function directoryAt(path: string, { destination, project, mode }: DirectoryPlace): DirectoryHandle {
  const isNamed = path === resolve(destination);
  if (kindOf(path) === undefined) {
    const parent = within(project, dirname(path), parentOf(path, destination));
    try {
      mkdirSync(parent.at(basename(path)), { mode: 0o700 });
    } finally {
      parent.close();
    }
    const made = within(project, path, openDirectory(path));
    fchmodSync(made.fd, ownMode(mode));
    return made;
  }
  if (!isNamed && lstatSync(path).isSymbolicLink())
    throw new UsageError(`${path} is a link, which a copy does not follow`);
  return within(project, path, openDirectory(isNamed ? realpathSync(path) : path));
}

interface DirectoryPlace {
  readonly destination: string;
  readonly project: string;
  readonly mode: number | undefined;
}

function parentOf(path: string, shown: string): DirectoryHandle {
  try {
    return openDirectory(realpathSync(dirname(path)));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) throw new UsageError(`there is no directory ${dirname(shown)}`);
    throw error;
  }
}

function kindOf(path: string): 'directory' | 'other' | undefined {
  const facts = statSync(path, { throwIfNoEntry: false });
  if (facts === undefined)
    return lstatSync(path, { throwIfNoEntry: false }) === undefined ? undefined : 'other';
  return facts.isDirectory() ? 'directory' : 'other';
}

/** tar says 1 for a file that changed while it was read: worth a word, and the copy is there. */
function requireSuccess({ exited, stderr }: PipedEnd, path: string, any: boolean): void {
  if (exited.code === MISSING) throw new UsageError(`there is no ${path} in the sandbox`);
  if (exited.code === 0 && any) return;
  if (exited.code === 1 && any) return;
  throw new OperationError(`${path} could not be copied whole: ${stderr || 'the sandbox sent nothing'}`);
}

function write(stream: NodeJS.WritableStream, bytes: Uint8Array): Promise<void> | undefined {
  if (stream.write(bytes)) return undefined;
  return new Promise((done) => {
    stream.once('drain', done).once('close', done).once('error', done);
  });
}
