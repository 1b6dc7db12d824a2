import type { Engine } from '../../../engine/index.ts';
import { OperationError } from '../../../lib/errors.ts';
import type { ListedSandbox } from '../find-sandboxes.ts';
import { type PipedEnd, runPiped } from '../piped-run.ts';
import { entriesOfSource, type OutgoingEntry, openSource } from './collect.ts';
import { RECEIVE, UNPACK } from './scripts.ts';

export interface CopyTo {
  readonly source: string;
  /** Follow a link in the last component of `source`. */
  readonly follow: boolean;
  readonly onSkipped: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Copies a file or directory of this machine into a sandbox, by the rules of `docker cp` (S15). */
export async function copyToSandbox(
  engine: Engine,
  sandbox: ListedSandbox,
  { source, follow, onSkipped, signal }: CopyTo,
  path: string,
): Promise<void> {
  const opened = openSource(source, follow, sandbox.project);
  try {
    const kind = opened.kind === 'directory' ? 'd' : 'f';
    const words = [path, opened.name, kind, opened.contents ? '1' : '0'];
    const end = await runPiped(engine, sandbox, {
      command: ['/bin/sh', '-c', RECEIVE, 'cp', ...words],
      input: tarOf(entriesOfSource(opened, onSkipped)),
      signal,
    });
    requireSuccess(end, path);
  } finally {
    opened.directory.close();
  }
}

/** Unpacks the user's own tar in a directory of the sandbox. */
export async function tarToSandbox(
  engine: Engine,
  sandbox: ListedSandbox,
  { input, signal }: { readonly input: AsyncIterable<Uint8Array>; readonly signal: AbortSignal },
  path: string,
): Promise<void> {
  const command = ['/bin/sh', '-c', UNPACK, 'cp', path];
  requireSuccess(await runPiped(engine, sandbox, { command, input, signal }), path);
}

/** Entries as the bytes of a tar, one after the other: a file is read only when there is room for it. */
async function* tarOf(entries: Iterable<OutgoingEntry>): AsyncGenerator<Uint8Array> {
  const { pack } = await import('../../../lib/tar-stream.ts');
  const archive = pack();
  const filling = fill(archive, entries);
  filling.catch((error: unknown) => archive.destroy(error instanceof Error ? error : undefined));
  for await (const piece of archive) if (piece instanceof Uint8Array) yield piece;
  await filling;
}

async function fill(archive: import('tar-stream').Pack, entries: Iterable<OutgoingEntry>): Promise<void> {
  for (const { content, ...header } of entries) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sink = archive.entry(header, (error) => (error ? reject(error) : resolve()));
    for (const piece of content?.() ?? []) {
      if (!sink.write(piece)) await drained(sink);
      if (sink.destroyed) break;
    }
    sink.end(undefined);
    await promise;
  }
  archive.finalize();
}

/** Resolves when more may be written, or never can be. */
function drained(sink: NodeJS.EventEmitter): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      sink.off('drain', done).off('close', done);
      resolve();
    };
    sink.on('drain', done).on('close', done);
  });
}

function requireSuccess({ exited, stderr }: PipedEnd, path: string): void {
  if (exited.code === 0) return;
  throw new OperationError(
    `cannot copy to ${path} in the sandbox: ${stderr || `tar ended with ${exited.code}`}`,
  );
}
