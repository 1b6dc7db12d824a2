import type { Plugin } from 'esbuild';

/** What extensions and programs load with `import()`, by the path that they name, and the file that it becomes. */
const BESIDE: Readonly<Record<string, string>> = {
  './history-log.ts': './history-log.mjs',
  './memory-tool.ts': './memory-tool.mjs',
  './yaml.ts': './yaml.mjs',
  './cron-library.ts': './cron-library.mjs',
  './jobs/session-jobs.ts': '../multi-agent-session.mjs',
  './jobs/tool.ts': '../multi-agent-tool.mjs',
  './jobs/command.ts': '../multi-agent-command.mjs',
  './runs/team.ts': '../multi-agent-team.mjs',
  './runs/program.ts': './multi-agent-runs.cjs',
  './screen.ts': './multi-agent-screen.mjs',
};

/**
 * What an extension or a program loads with `import()` stays a file of its own beside it, an entry point like that: so its
 * start does not read it. (Esbuild's own splitting would take the parts that both need out of the extension as well.)
 */
export function fileBeside(): Plugin {
  return {
    name: 'file-beside',
    setup(build) {
      build.onResolve({ filter: /^\.\// }, ({ kind, path }) => {
        const file = kind === 'dynamic-import' ? BESIDE[path] : undefined;
        return file === undefined ? undefined : { path: file, external: true };
      });
    },
  };
}
