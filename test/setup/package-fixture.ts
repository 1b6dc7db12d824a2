import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach } from 'vitest';

const REPOSITORY = join(import.meta.dirname, '../..');

const made: string[] = [];
afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
});

export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'pi-sandbox-test-'));
  made.push(directory);
  return directory;
}

export function put(root: string, path: string, content: string, mode = 0o644): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content, { mode });
}

/** A package as installed: the real docker/ directory and stand-ins for the bundles. */
export function packageFixture(): string {
  const root = temporaryDirectory();
  cpSync(join(REPOSITORY, 'docker'), join(root, 'docker'), {
    recursive: true,
    filter: (path) => !path.includes('node_modules'),
  });
  put(root, 'package.json', '{"name":"pi-sandbox","version":"9.9.9"}');
  put(root, 'dist/container/supervisor.mjs', '// supervisor');
  put(root, 'dist/container/extensions/session-lock.mjs', '// lock');
  return root;
}
