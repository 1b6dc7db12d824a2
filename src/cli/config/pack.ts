/** The merged configuration as one tar, framed by length and hash: it goes to the container's memory, never a disk (S8). */
import { createHash } from 'node:crypto';
import { LimitError } from '../../lib/errors.ts';
import { LIMITS } from '../../wire/index.ts';
import type { SessionMerge } from './merge.ts';

export interface PackedMerge {
  readonly tar: Buffer;
  readonly sha256: string;
  /** Bytes. */
  readonly length: number;
}

/** Packs a merge. The same merge always gives the same bytes, so that a join can tell whether anything changed. */
export async function packMerge(merge: SessionMerge): Promise<PackedMerge> {
  const { pack } = await import('../../lib/tar-stream.ts');
  const archive = pack();
  const add = (name: string, content: Buffer, executable = false): void => {
    archive.entry({ name, mode: executable ? 0o755 : 0o644, mtime: new Date(0), uid: 0, gid: 0 }, content);
  };
  for (const { path, content, executable } of merge.files) add(path, content, executable);
  add('sandbox.json', Buffer.from(`${JSON.stringify(merge.sandbox)}\n`));
  if (merge.certificates !== undefined) add('ca-certificates.crt', merge.certificates.content);
  archive.finalize();
  const pieces: Uint8Array[] = [];
  for await (const piece of archive) if (piece instanceof Uint8Array) pieces.push(piece);
  const tar = Buffer.concat(pieces);
  if (tar.length > LIMITS.merge) {
    throw new LimitError(`the session configuration packs to more than ${LIMITS.merge} bytes, the limit`);
  }
  return { tar, sha256: createHash('sha256').update(tar).digest('hex'), length: tar.length };
}
