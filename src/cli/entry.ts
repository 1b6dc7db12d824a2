/**
 * The command's file: checks Node's version in words that an old one still reads, then runs the bundle beside it.
 */
import { createRequire } from 'node:module';
import { runCached } from './code-cache.ts';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    `pi-sandbox: needs Node.js 22.19 or later, this is ${process.versions.node}: install a newer Node.js\n`,
  );
  process.exit(2);
}
runCached(createRequire(import.meta.url), import.meta.dirname, PI_SANDBOX_BUILD);
