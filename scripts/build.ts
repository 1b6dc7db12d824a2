/**
 * Builds `dist/`: the command as one bundle with a chunk per verb (a verb loads only what it needs), and the parts
 * that go into the session image as one file each.
 */
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type BuildOptions, build } from 'esbuild';
import { lazyModules } from './lazy-modules.ts';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

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
  banner: {
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
  },
  logLevel: 'warning',
};

rmSync('dist', { recursive: true, force: true });

await Promise.all([
  build({
    ...common,
    entryPoints: { 'container/supervisor': 'src/container/main.ts' },
    outdir: 'dist',
    outExtension: { '.js': '.mjs' },
    external: ['fs-native-extensions', '@lydell/node-pty'],
  }),
  build({
    ...common,
    entryPoints: {
      'container/extensions/session-lock': 'src/agent/extensions/session-lock.ts',
      'container/extensions/demo-model': 'src/agent/extensions/demo-model.ts',
    },
    outdir: 'dist',
    outExtension: { '.js': '.mjs' },
    external: ['fs-native-extensions', '@earendil-works/*'],
  }),
  build({
    ...common,
    entryPoints: { main: 'src/cli/main.ts' },
    outdir: 'dist/cli',
    outExtension: { '.js': '.mjs' },
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    external: ['fs-native-extensions'],
    plugins: [lazyModules()],
  }),
]);

writeFileSync(
  'dist/cli/pi-sandbox.mjs',
  `#!/usr/bin/env node
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(\`pi-sandbox: needs Node.js 22.19 or later, this is \${process.versions.node}: install a newer Node.js\\n\`);
  process.exit(2);
}
const { enableCompileCache } = await import('node:module');
const { homedir } = await import('node:os');
// In a directory of the user's own: compiled code in a shared /tmp could be another user's.
enableCompileCache(\`\${process.env.XDG_CACHE_HOME || homedir() + '/.cache'}/pi-sandbox/compile-cache\`);
await import('./main.mjs');
`,
);
chmodSync('dist/cli/pi-sandbox.mjs', 0o755);
