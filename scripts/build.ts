/**
 * Builds `dist/`: the command as one script whose modules run only when a verb needs them, and the parts
 * that go into the session image as one file each.
 */
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, readFileSync, rmSync } from 'node:fs';
import { type BuildOptions, build } from 'esbuild';
import { fileBeside } from './file-beside.ts';
import { lazyModules } from './lazy-modules.ts';
import { buildLibrary } from './library.ts';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

/** What CommonJS in a bundle asks for by name. */
const REQUIRE =
  "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);";

const common: BuildOptions = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node22',
  // Names stay: libraries compare error names (docs/adr/0002).
  keepNames: true,
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  define: { PI_SANDBOX_VERSION: JSON.stringify(version) },
  banner: { js: REQUIRE },
  logLevel: 'warning',
};

/** A script and not a module, in one file: Node's module loader took a third of the time of a short command. */
const script: BuildOptions = {
  format: 'cjs',
  banner: {},
  outdir: 'dist',
  outExtension: { '.js': '.cjs' },
  supported: { 'dynamic-import': false },
  define: { ...common.define, 'import.meta.dirname': '__dirname', 'import.meta.url': '__filename' },
};

rmSync('dist', { recursive: true, force: true });

await Promise.all([
  build({
    ...common,
    ...script,
    entryPoints: { 'container/supervisor': 'src/container/main.ts' },
    external: ['fs-native-extensions', '@lydell/node-pty'],
    plugins: [fileBeside()],
  }),
  build({
    ...common,
    entryPoints: {
      'container/supervisor': 'src/container/entry.ts',
      'container/selftest': 'src/container/selftest.ts',
      'container/legacy': 'src/container/legacy.ts',
      'container/history': 'src/container/history.ts',
      'container/transfer': 'src/container/transfer.ts',
      'container/audit': 'src/container/audit.ts',
    },
    outdir: 'dist',
    outExtension: { '.js': '.mjs' },
    external: ['fs-native-extensions', '@lydell/node-pty'],
  }),
  build({
    ...common,
    banner: { js: `#!/usr/bin/env node\n${REQUIRE}` },
    entryPoints: {
      'container/pi-work': 'src/agent/pi-work.ts',
    },
    outdir: 'dist',
    outExtension: { '.js': '.mjs' },
    external: ['fs-native-extensions'],
    plugins: [fileBeside()],
  }),
  build({
    ...common,
    ...script,
    banner: { js: '#!/usr/bin/env node' },
    entryPoints: {
      'container/multi-agent': 'src/agent/multi-agent.ts',
      'container/multi-agent-runs': 'src/agent/runs/program.ts',
    },
    external: ['fs-native-extensions'],
    plugins: [fileBeside()],
  }),
  build({
    ...common,
    entryPoints: {
      'container/multi-agent-runner': 'src/agent/multi-agent-runner.ts',
      'container/yaml': 'src/lib/yaml.ts',
      'container/cron-library': 'src/runs/schedules/cron-library.ts',
    },
    outdir: 'dist',
    outExtension: { '.js': '.mjs' },
    external: ['fs-native-extensions'],
  }),
  build({
    ...common,
    entryPoints: {
      'container/multi-agent-owner': 'src/agent/multi-agent-owner.ts',
      'container/multi-agent-scheduler': 'src/agent/multi-agent-scheduler.ts',
    },
    outdir: 'dist',
    outExtension: { '.js': '.mjs' },
    external: ['fs-native-extensions'],
    plugins: [fileBeside()],
  }),
  build({
    ...common,
    entryPoints: {
      'container/extensions/session-lock': 'src/agent/extensions/session-lock.ts',
      'container/extensions/history-log': 'src/agent/extensions/history-log.ts',
      'container/extensions/memory': 'src/agent/extensions/memory.ts',
      'container/extensions/memory-tool': 'src/agent/extensions/memory-tool.ts',
      'container/extensions/demo-model': 'src/agent/extensions/demo-model.ts',
      'container/extensions/multi-agent': 'src/agent/extensions/multi-agent.ts',
      'container/multi-agent-session': 'src/agent/extensions/jobs/session-jobs.ts',
      'container/multi-agent-tool': 'src/agent/extensions/jobs/tool.ts',
      'container/multi-agent-command': 'src/agent/extensions/jobs/command.ts',
      'container/multi-agent-team': 'src/agent/extensions/runs/team.ts',
    },
    outdir: 'dist',
    outExtension: { '.js': '.mjs' },
    external: ['fs-native-extensions', '@earendil-works/*'],
    plugins: [fileBeside()],
  }),
  build({
    ...common,
    // pi's terminal library comes along: an extension of its own copy's would be transformed by pi first.
    entryPoints: { 'container/multi-agent-screen': 'src/agent/extensions/jobs/screen.ts' },
    outdir: 'dist',
    outExtension: { '.js': '.mjs' },
  }),
  build({
    ...common,
    ...script,
    entryPoints: { 'container/login-guard': 'src/agent/login-guard.ts' },
  }),
  buildLibrary({ ...common, ...script }, version, 'dist/container/library'),
  build({
    ...common,
    ...script,
    entryPoints: { 'cli/main': 'src/cli/main.ts' },
    external: ['fs-native-extensions'],
    plugins: [lazyModules()],
  }),
]);

// They are read as ASCII (src/lib/code-cache.ts).
const [bundle = Buffer.alloc(0)] = ['dist/cli/main.cjs', 'dist/container/supervisor.cjs'].map((path) => {
  const content = readFileSync(path);
  if (content.some((byte) => byte > 0x7f)) throw new Error(`${path} is not ASCII`);
  return content;
});

await build({
  ...common,
  banner: { js: '#!/usr/bin/env node' },
  entryPoints: { 'pi-sandbox': 'src/cli/entry.ts' },
  outdir: 'dist/cli',
  outExtension: { '.js': '.mjs' },
  define: {
    PI_SANDBOX_BUILD: JSON.stringify(createHash('sha256').update(bundle).digest('hex').slice(0, 16)),
  },
});
cpSync('src/agent/profiles', 'dist/container/profiles', { recursive: true });
cpSync('docs/graph.schema.json', 'dist/container/graph.schema.json');
for (const program of [
  'dist/cli/pi-sandbox.mjs',
  'dist/container/pi-work.mjs',
  'dist/container/multi-agent.cjs',
]) {
  chmodSync(program, 0o755);
}
