/** A program of ours as the build makes it, for tests that run it without an image. */
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/**
 * The bundle of one entry, below the repository; its path.
 *
 * @param beside entries and folders that the build puts into the same directory
 */
export function builtProgram(entry: string, beside: readonly string[] = []): string {
  const others = beside.filter((path) => path.endsWith('.ts'));
  const { outputFiles } = buildSync({
    entryPoints: [entry, ...others].map((path) => resolve(ROOT, path)),
    outdir: 'built',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    external: ['fs-native-extensions'],
    banner: {
      js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
    define: { PI_SANDBOX_VERSION: '"0.0.0-test"' },
    write: false,
  });
  // Below node_modules, so that the native module is found; by content, so that parallel tests do not collide.
  const hash = createHash('sha256');
  for (const { contents } of outputFiles) hash.update(contents);
  const directory = resolve(ROOT, 'node_modules/.cache/pi-sandbox-test', hash.digest('hex').slice(0, 12));
  mkdirSync(directory, { recursive: true });
  for (const { path, contents } of outputFiles) {
    const file = join(directory, basename(path));
    writeFileSync(`${file}.${process.pid}`, contents);
    renameSync(`${file}.${process.pid}`, file);
  }
  for (const folder of beside.filter((path) => !path.endsWith('.ts'))) {
    cpSync(resolve(ROOT, folder), join(directory, basename(folder)), { recursive: true });
  }
  return join(directory, `${basename(entry, '.ts')}.mjs`);
}
