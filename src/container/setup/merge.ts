import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { Readable } from 'node:stream';
import { MERGED_FILES, pathsOf, type Roots } from '../../agent-dir/index.ts';
import { OperationError, messageOf } from '../../lib/errors.ts';
import { type MergeAnnouncement, SandboxConfig } from '../../wire/index.ts';

const SYSTEM_CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

/** The merged configuration that the sandbox uses now, and the untouched copy it came from. */
export interface PublishedMerge {
  sha256: string;
  /** Directory with the files as they arrived, to tell later what a session changed. */
  pristine: string;
  config: SandboxConfig;
}

/** Collects the tar that follows a request, and refuses more or other bytes than were announced. */
export class MergeReceiver {
  readonly announced: MergeAnnouncement;
  private readonly pieces: Buffer[] = [];
  private received = 0;

  constructor(announced: MergeAnnouncement) {
    this.announced = announced;
  }

  get complete(): boolean {
    return this.received === this.announced.length;
  }

  push(piece: Buffer): void {
    this.received += piece.length;
    if (this.received > this.announced.length) {
      throw new OperationError('the merged configuration is longer than announced');
    }
    this.pieces.push(piece);
  }

  /** The tar, once complete and equal to its announced hash. */
  take(): Buffer {
    const tar = Buffer.concat(this.pieces);
    if (!this.complete || createHash('sha256').update(tar).digest('hex') !== this.announced.sha256) {
      throw new OperationError('the merged configuration arrived damaged', { hint: 'start again' });
    }
    return tar;
  }
}

/**
 * Unpacks the tar into the container's memory and puts it in place of the merge before it, whole: the files that pi
 * writes are fresh copies, the read-only parts are one link that is swapped (S8).
 */
export async function publishMerge(roots: Roots, tar: Buffer, sha256: string): Promise<PublishedMerge> {
  const pristine = `${roots.memory}/merges/${sha256}`;
  if (!existsSync(pristine)) {
    const incoming = `${roots.memory}/merges/.incoming`;
    rmSync(incoming, { recursive: true, force: true });
    mkdirSync(incoming, { recursive: true, mode: 0o700 });
    await unpack(tar, incoming);
    renameSync(incoming, pristine);
  }
  const config = readSandboxConfig(`${pristine}/sandbox.json`);
  for (const name of MERGED_FILES) replaceFile(`${pristine}/${name}`, `${roots.memory}/${name}`);
  publishCertificates(`${pristine}/ca-certificates.crt`, pathsOf(roots).certificates);
  mkdirSync(`${pristine}/config`, { recursive: true, mode: 0o700 });
  const link = `${roots.memory}/.config.new`;
  rmSync(link, { force: true });
  symlinkSync(`${pristine}/config`, link);
  renameSync(link, `${roots.memory}/config`);
  return { sha256, pristine, config };
}

/** The host's certificates beside the image's own: a company's proxy does not stand before every address (S10). */
function publishCertificates(from: string, to: string): void {
  if (!existsSync(from)) return rmSync(to, { force: true });
  const bundle = existsSync(SYSTEM_CERTIFICATES) ? readFileSync(SYSTEM_CERTIFICATES) : Buffer.alloc(0);
  writeFileSync(`${to}.new`, Buffer.concat([bundle, Buffer.from('\n'), readFileSync(from)]));
  renameSync(`${to}.new`, to);
}

function replaceFile(from: string, to: string): void {
  if (!existsSync(from)) {
    rmSync(to, { force: true });
    return;
  }
  const incoming = `${to}.new`;
  copyFileSync(from, incoming);
  renameSync(incoming, to);
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

async function unpack(tar: Buffer, directory: string): Promise<void> {
  const { extract } = await import('../../lib/tar-stream.ts');
  const entries = Readable.from([tar]).pipe(extract());
  for await (const entry of entries) {
    const path = join(directory, normalize(entry.header.name));
    if (path !== directory && !path.startsWith(`${directory}/`)) {
      throw new OperationError(`the merged configuration names a file outside: ${entry.header.name}`);
    }
    if (entry.header.type === 'directory') {
      mkdirSync(path, { recursive: true, mode: 0o700 });
      entry.resume();
    } else if (entry.header.type === 'file') {
      const pieces: Uint8Array[] = [];
      for await (const piece of entry) {
        if (piece instanceof Uint8Array) pieces.push(piece);
      }
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      const executable = ((entry.header.mode ?? 0) & 0o100) !== 0;
      writeFileSync(path, Buffer.concat(pieces), { mode: executable ? 0o700 : 0o600 });
    } else {
      throw new OperationError(`the merged configuration holds neither file nor folder: ${entry.header.name}`);
    }
  }
}
