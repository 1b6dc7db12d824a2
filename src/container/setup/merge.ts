import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename } from 'node:path';
import {
  CONFIG_DIRECTORIES,
  CONFIG_FILES,
  GIT_CONFIG_NAME,
  MERGED_FILES,
  pathsOf,
  type Roots,
} from '../../agent-dir/index.ts';
import { hasCode, messageOf, OperationError } from '../../lib/errors.ts';
import { SandboxConfig } from '../../wire/index.ts';
import { makeReadOnly, removeTree } from './read-only-tree.ts';
import { unpack } from './unpack.ts';

const SYSTEM_CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

/** The merged configuration that the sandbox uses now, and the untouched copy it came from. */
export interface PublishedMerge {
  sha256: string;
  /** Directory with the files as they arrived, to tell later what a session changed. */
  pristine: string;
  /** Files below `config/` as they arrived: pi reads and writes those very files. */
  configFiles: ReadonlyMap<string, Buffer>;
  config: SandboxConfig;
}

let count = 0;

/**
 * Unpacks the tar into the container's memory and puts it in place of the merge before it, whole: the files that pi
 * writes are fresh copies, the read-only parts are one link that is swapped (S8). The merge before it stays on disk
 * until {@link removeMerge}. Call it for one merge at a time.
 *
 * @throws OperationError; what was published before is then still in place
 */
export async function publishMerge(roots: Roots, tar: Buffer, sha256: string): Promise<PublishedMerge> {
  const pristine = `${roots.memory}/merges/${++count}`;
  removeTree(pristine);
  try {
    // `config` is always there, so that the links into it lead somewhere.
    mkdirSync(pristine, { recursive: true, mode: 0o700 });
    await unpack(tar, pristine);
    mkdirSync(`${pristine}/config`, { recursive: true, mode: 0o700 });
    for (const name of CONFIG_DIRECTORIES) makeReadOnly(`${pristine}/config/${name}`);
    const config = readSandboxConfig(`${pristine}/sandbox.json`);
    replaceAll(roots, pristine);
    return { sha256, pristine, configFiles: readConfigFiles(pristine), config };
  } catch (error) {
    removeTree(pristine);
    if (!hasCode(error, 'ENOSPC')) throw error;
    throw new OperationError(`the merged configuration does not fit into ${roots.memory}`, {
      hint: 'make it smaller, or end running Sessions, which keep the configuration they started with',
      cause: error,
    });
  }
}

function readConfigFiles(pristine: string): Map<string, Buffer> {
  const files = CONFIG_FILES.map((name) => `${pristine}/config/${name}`).filter((path) => existsSync(path));
  return new Map(files.map((path) => [basename(path), readFileSync(path)]));
}

/** Gives the memory of a merge back that nothing uses any more. */
export function removeMerge({ pristine }: PublishedMerge): void {
  removeTree(pristine);
}

/** Everything is written beside its place first, so that a full memory changes nothing. */
function replaceAll(roots: Roots, pristine: string): void {
  const finish = [
    ...MERGED_FILES.map((name) => prepareFile(`${pristine}/${name}`, `${roots.memory}/${name}`)),
    prepareCertificates(`${pristine}/ca-certificates.crt`, pathsOf(roots).certificates),
    prepareGitConfig(`${pristine}/${GIT_CONFIG_NAME}`, `${roots.memory}/${GIT_CONFIG_NAME}`),
  ];
  const link = `${roots.memory}/.config.new`;
  rmSync(link, { recursive: true, force: true });
  symlinkSync(`${pristine}/config`, link);
  finish.push(() => renameSync(link, `${roots.memory}/config`));
  for (const step of finish) step();
}

function prepareFile(from: string, to: string): () => void {
  if (!existsSync(from)) return () => rmSync(to, { recursive: true, force: true });
  const fresh = freshPlace(to);
  copyFileSync(from, fresh);
  return () => putInPlace(fresh, to);
}

/** The host's certificates beside the image's own: a company's proxy does not stand before every address (S10). */
function prepareCertificates(from: string, to: string): () => void {
  if (!existsSync(from)) return () => rmSync(to, { recursive: true, force: true });
  const bundle = existsSync(SYSTEM_CERTIFICATES) ? readFileSync(SYSTEM_CERTIFICATES) : Buffer.alloc(0);
  const fresh = freshPlace(to);
  writeFileSync(fresh, Buffer.concat([bundle, Buffer.from('\n'), readFileSync(from)]));
  return () => putInPlace(fresh, to);
}

/** The image's own configuration, and over it as whom the user commits (S10). */
function prepareGitConfig(from: string, to: string): () => void {
  const identity = existsSync(from) ? readFileSync(from, 'utf8') : '';
  const fresh = freshPlace(to);
  writeFileSync(fresh, `[include]\n\tpath = /etc/gitconfig\n${identity}`);
  return () => putInPlace(fresh, to);
}

/** A session can write here too, and may have left anything in our way. */
function freshPlace(to: string): string {
  const fresh = `${to}.new`;
  rmSync(fresh, { recursive: true, force: true });
  return fresh;
}

function putInPlace(fresh: string, to: string): void {
  if (lstatSync(to, { throwIfNoEntry: false })?.isDirectory() === true) rmSync(to, { recursive: true });
  renameSync(fresh, to);
}

function readSandboxConfig(path: string): SandboxConfig {
  try {
    return SandboxConfig.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    throw new OperationError(`sandbox.json of the merged configuration is not valid: ${messageOf(error)}`, {
      hint: 'the sandbox may be of another version: pi-sandbox stop, then start again',
      cause: error,
    });
  }
}
