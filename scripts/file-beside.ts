import type { Plugin } from 'esbuild';

/**
 * What an extension or a program loads with `import()` stays a file of its own beside it, an entry point like that: so its
 * start does not read it. (Esbuild's own splitting would take the parts that both need out of the extension as well.)
 */
export function fileBeside(): Plugin {
  return {
    name: 'file-beside',
    setup(build) {
      build.onResolve({ filter: /^\.\/(?:history-log|memory-tool|yaml)\.ts$/ }, ({ kind, path }) =>
        kind === 'dynamic-import' ? { path: path.replace(/\.ts$/, '.mjs'), external: true } : undefined,
      );
    },
  };
}
