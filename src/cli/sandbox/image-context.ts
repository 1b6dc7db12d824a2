/**
 * What goes into the session image (S21): a short list of the package's own files, hashed for the image's name and
 * packed for the engine. The user's directory is never sent.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { hasCode, OperationError } from '../../lib/errors.ts';

/** Files and directories below the package's root; .dockerignore lists the same for a build by hand. */
const CONTEXT = [
  'docker/Dockerfile',
  'docker/package.json',
  'docker/package-lock.json',
  'docker/warm.mjs',
  'docker/bin',
  'docker/skel',
  'docker/skills',
  'dist/container',
];

/** Without these a sandbox cannot start, or its Sessions would run without their lock (H3). */
const REQUIRED = ['dist/container/supervisor.mjs', 'dist/container/extensions/session-lock.mjs'];

const HASH_LENGTH = 16;

export interface ContextFile {
  /** Below the package's root, with `/`. */
  readonly path: string;
  readonly content: Buffer;
  readonly executable: boolean;
}

/** The directory of the installed package: the nearest one above this module that holds the Dockerfile. */
export function packageRoot(from: string = import.meta.dirname): string {
  for (let directory = from; ; directory = dirname(directory)) {
    if (existsSync(join(directory, 'docker/Dockerfile')) && existsSync(join(directory, 'package.json'))) {
      return directory;
    }
    if (directory === dirname(directory)) {
      throw new OperationError(`the package's docker/Dockerfile is not found above ${from}`, {
        hint: 'install pi-sandbox again',
      });
    }
  }
}

/**
 * Reads every file of the image's context, sorted by path.
 *
 * @throws OperationError when the package was not built.
 */
export function readContext(root: string): ContextFile[] {
  for (const path of REQUIRED) {
    if (!existsSync(join(root, path))) {
      throw new OperationError(`${path} is missing, so the image cannot be built`, { hint: 'npm run build' });
    }
  }
  return CONTEXT.flatMap((path) => filesBelow(root, path)).sort((a, b) => (a.path < b.path ? -1 : 1));
}

function filesBelow(root: string, path: string): ContextFile[] {
  const full = join(root, path);
  try {
    return readdirSync(full, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() || entry.isFile() ? filesBelow(root, `${path}/${entry.name}`) : [],
    );
  } catch (error) {
    if (!hasCode(error, 'ENOTDIR')) throw error;
    // Modes come from this rule and not from the disk, where packing and umask change them.
    return [{ path, content: readFileSync(full), executable: path.startsWith('docker/bin/') }];
  }
}

/**
 * The hash in the image's name: over every file, and every other thing that decides what the image holds. The
 * certificates used while building are left out; they don't get into the image (S10).
 */
export function contentHash(
  files: readonly ContextFile[],
  decisions: Readonly<Record<string, string>>,
): string {
  const hash = createHash('sha256');
  const field = (value: string | Buffer) => hash.update(`${Buffer.byteLength(value)}:`).update(value);
  for (const [name, value] of Object.entries(decisions).sort(([a], [b]) => (a < b ? -1 : 1))) {
    field(name);
    field(value);
  }
  for (const { path, content } of files) {
    field(path);
    field(content);
  }
  return hash.digest('hex').slice(0, HASH_LENGTH);
}

/** A tar of the files that is the same for the same files, whoever makes it and when. */
export async function packContext(files: readonly ContextFile[]): Promise<Buffer> {
  const [{ pack }, { buffer }] = await Promise.all([
    import('../../lib/tar-stream.ts'),
    import('node:stream/consumers'),
  ]);
  const archive = pack();
  const packed = buffer(archive);
  for (const { path, content, executable } of files) {
    archive.entry(
      { name: path, mode: executable ? 0o755 : 0o644, mtime: new Date(0), uid: 0, gid: 0 },
      content,
    );
  }
  archive.finalize();
  return packed;
}
