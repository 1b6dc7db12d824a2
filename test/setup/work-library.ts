/** `pi-sandbox/work` as the image has it, for tests that import it. */
import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { buildLibrary } from '../../scripts/library.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/**
 * Builds the package; the caller removes it.
 *
 * @returns its directory, below node_modules, so that the native module is found as it is beside an installed package
 */
export async function builtLibrary(name: string): Promise<string> {
  const directory = join(ROOT, 'node_modules/.cache/pi-sandbox-test', `library-${name}-${process.pid}`);
  mkdirSync(dirname(directory), { recursive: true });
  await buildLibrary(
    {
      ...{ bundle: true, platform: 'node', target: 'node22', format: 'cjs' },
      outExtension: { '.js': '.cjs' },
      define: { 'import.meta.url': '__filename' },
    },
    '1.2.3',
    directory,
  );
  return directory;
}
