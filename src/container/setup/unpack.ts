import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { Readable } from 'node:stream';
import { OperationError } from '../../lib/errors.ts';

/**
 * Unpacks a tar of files and folders below `directory`, which must be new and nobody else's.
 *
 * @throws OperationError for a name that leads out, and for anything that is neither file nor folder
 */
export async function unpack(tar: Buffer, directory: string): Promise<void> {
  const { extract } = await import('../../lib/tar-stream.ts');
  for await (const entry of Readable.from([tar]).pipe(extract())) {
    const { name, type, mode } = entry.header;
    const path = join(directory, normalize(name));
    if (name.split('/').includes('..') || (path !== directory && !path.startsWith(`${directory}/`))) {
      throw new OperationError(`the merged configuration names a file outside: ${JSON.stringify(name)}`);
    }
    if (type === 'directory') {
      mkdirSync(path, { recursive: true, mode: 0o700 });
      entry.resume();
    } else if (type === 'file') {
      const pieces: Uint8Array[] = [];
      for await (const piece of entry) {
        if (piece instanceof Uint8Array) pieces.push(piece);
      }
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      const executable = ((mode ?? 0) & 0o100) !== 0;
      writeFileSync(path, Buffer.concat(pieces), { mode: executable ? 0o700 : 0o600, flag: 'wx' });
    } else {
      throw new OperationError(
        `the merged configuration holds neither file nor folder: ${JSON.stringify(name)}`,
      );
    }
  }
}
