/**
 * The base for machines that cannot reach a container registry (S22): made by `docker/base/build.sh` from Debian's
 * packages and the npm registry, and imported into the engine once under the hash of what decides its content.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { messageOf, OperationError } from '../../lib/errors.ts';
import type { InstallationPrefix } from '../config/index.ts';
import { packContext } from './image-context.ts';
import type { ImageEngine } from './image-plan.ts';
import { imageRepository } from './names.ts';

const SCRIPT = 'docker/base/build.sh';
/** Of the script's output, what an error shows. */
const SHOWN_LINES = 15;

export function offlineBaseRepository(prefix: InstallationPrefix): string {
  return `${imageRepository(prefix)}-base`;
}

/** The base's name on an engine: over the script, which pins Node and npm, and this machine's distribution. */
export function offlineBaseName(prefix: InstallationPrefix, root: string): string {
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  const distribution = release.split('\n').filter((line) => /^(ID|VERSION_CODENAME)=/.test(line));
  const hash = createHash('sha256').update(readFileSync(join(root, SCRIPT)));
  hash.update([process.arch, ...distribution.sort()].join('\n'));
  return `${offlineBaseRepository(prefix)}:${hash.digest('hex').slice(0, 16)}`;
}

export interface OfflineBaseRequest {
  readonly engine: ImageEngine;
  readonly prefix: InstallationPrefix;
  readonly root: string;
  readonly onProgress?: ((line: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Makes and imports the offline base unless the engine has it.
 *
 * @returns its name.
 * @throws OperationError where this machine cannot make one (not root, not Debian or Ubuntu, no debootstrap).
 */
export async function ensureOfflineBase(request: OfflineBaseRequest): Promise<string> {
  const { engine, prefix, root } = request;
  const name = offlineBaseName(prefix, root);
  if (await engine.images.inspect(name)) return name;
  if (await copySameBase(request, name)) return name;
  // A file and not a pipe: a script that fails half way must not leave half a base on the engine.
  const directory = await mkdtemp(join(tmpdir(), 'pi-sandbox-base-'));
  try {
    const file = join(directory, 'base.tar');
    await runScript(request, file);
    request.onProgress?.('importing the offline base');
    await engine.images.importTar({
      tar: createReadStream(file),
      name,
      changes: [
        'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        'CMD ["node"]',
        `LABEL pi-sandbox.prefix="${prefix}" pi-sandbox.role="image-base"`,
      ],
      ...(request.signal ? { signal: request.signal } : {}),
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  return name;
}

/**
 * The same content under another installation's name spares making it again: one more image on top, with our label, so
 * that each installation prunes its own.
 */
async function copySameBase(
  { engine, prefix, onProgress }: OfflineBaseRequest,
  name: string,
): Promise<boolean> {
  const ending = `-base:${name.slice(name.lastIndexOf(':') + 1)}`;
  const bases = await engine.images.list({ 'pi-sandbox.role': 'image-base' });
  const twin = bases.flatMap(({ tags }) => tags).find((tag) => tag.endsWith(ending));
  if (twin === undefined) return false;
  onProgress?.(`taking over the base ${twin}`);
  const dockerfile = { path: 'Dockerfile', content: Buffer.from(`FROM ${twin}\n`), executable: false };
  await engine.images.build({
    context: await packContext([dockerfile]),
    dockerfile: 'Dockerfile',
    tags: [name],
    labels: { 'pi-sandbox.prefix': prefix, 'pi-sandbox.role': 'image-base' },
  });
  return true;
}

function runScript({ root, onProgress, signal }: OfflineBaseRequest, file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const lines: string[] = [];
    const child = spawn('sh', [join(root, SCRIPT), file], { stdio: ['ignore', 'ignore', 'pipe'], signal });
    createInterface({ input: child.stderr }).on('line', (line) => {
      lines.push(line);
      if (lines.length > SHOWN_LINES) lines.shift();
      onProgress?.(line);
    });
    child.once('error', (error) => reject(new OperationError(`cannot run ${SCRIPT}: ${messageOf(error)}`)));
    child.once('close', (code, signalName) => {
      if (code === 0) return resolve();
      const why = lines.at(-1) ?? (signalName ? `ended by ${signalName}` : `exit code ${code}`);
      const before = lines.slice(0, -1).join('\n');
      const message = `the offline base could not be made: ${why.replace(/^offline base: /, '')}`;
      reject(new OperationError(message, { hint: before === '' ? undefined : `its last lines:\n${before}` }));
    });
  });
}
