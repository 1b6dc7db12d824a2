/** A program of ours as the build makes it, for tests that run it without an image. */
import { createHash } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/** The bundle of one entry, below the repository; its path. */
export function builtProgram(entry: string): string {
  const { outputFiles } = buildSync({
    entryPoints: [resolve(ROOT, entry)],
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
  const content = outputFiles[0]?.contents ?? new Uint8Array();
  // Below node_modules, so that the native module is found; by content, so that parallel tests do not collide.
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 12);
  const file = resolve(
    ROOT,
    'node_modules/.cache/pi-sandbox-test',
    hash,
    `${basename(entry).replace(/\.ts$/, '')}.mjs`,
  );
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.${process.pid}`, content);
  renameSync(`${file}.${process.pid}`, file);
  return file;
}
