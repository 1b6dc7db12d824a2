/**
 * Run once while the image is built, as the usual uid: starts what a sandbox starts and ends it the normal way, which is
 * when Node writes its compile cache (S21). Nothing here may fail the build but a pi that does not run.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';

const ROOT = '/opt/pi-sandbox';
const CLI = `${ROOT}/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js`;
const lock = `${ROOT}/extensions/session-lock.mjs`;
const memory = `${ROOT}/extensions/memory.mjs`;
const demo = `${ROOT}/extensions/demo-model.mjs`;
const jobs = `${ROOT}/extensions/multi-agent.mjs`;
const extensions = [lock, memory, jobs, demo].flatMap((file) => (existsSync(file) ? ['-e', file] : []));

const agent = `${process.env.HOME}/agent`;
mkdirSync(agent, { recursive: true });
writeFileSync(`${agent}/settings.json`, '{"quietStartup":true}');
const env = {
  ...process.env,
  PI_CODING_AGENT_DIR: agent,
  PI_OFFLINE: '1',
  PI_SKIP_VERSION_CHECK: '1',
  PI_TELEMETRY: '0',
  PI_SANDBOX_WARM: '1',
  TERM: 'xterm-256color',
};

const version = spawnSync(process.execPath, [CLI, '--version'], { env, encoding: 'utf8', timeout: 60_000 });
if (version.status !== 0) {
  process.stderr.write(`pi does not run: ${version.stderr || version.error?.message}\n`);
  process.exit(1);
}
process.stdout.write(`pi ${version.stdout.trim()}\n`);

/** A print run and an RPC run: both end by themselves (the first with "no model" where there is no demo model). */
for (const mode of [
  ['-p', 'hello'],
  ['--mode', 'rpc'],
]) {
  const run = spawnSync(process.execPath, [CLI, '--no-session', ...extensions, ...mode], {
    env,
    input: '',
    encoding: 'utf8',
    timeout: 60_000,
  });
  process.stdout.write(`warm ${mode[0]}: ${run.status ?? run.signal}\n`);
}

/** The supervisor with `--warm` loads its modules, writes its code cache and ends. */
const supervisor = spawnSync(process.execPath, [`${ROOT}/supervisor.mjs`, '--warm'], {
  env: { ...env, PI_SANDBOX_WARM_CACHE: `${process.env.HOME}/supervisor.cache` },
  input: '',
  encoding: 'utf8',
  timeout: 10_000,
});
process.stdout.write(`warm supervisor: ${supervisor.status ?? supervisor.signal}\n`);

/** The TUI in a pseudo-terminal: up to its first quiet moment, then Ctrl-D on the empty editor, which is pi's own exit. */
const { spawn: spawnPty } = await import(`${ROOT}/node_modules/@lydell/node-pty/index.js`);
const tui = spawnPty(process.execPath, [CLI, '--no-session', ...extensions], {
  cols: 100,
  rows: 30,
  cwd: process.cwd(),
  env,
});
let quiet;
const deadline = setTimeout(() => tui.kill('SIGTERM'), 30_000);
tui.onData((data) => {
  // Answers what pi asks the terminal (device attributes), as a real one would.
  if (data.includes('\u001b[c')) tui.write('\u001b[?62;22c');
  clearTimeout(quiet);
  quiet = setTimeout(() => tui.write('\u0004'), 1_000);
});
tui.onExit(({ exitCode, signal }) => {
  clearTimeout(deadline);
  process.stdout.write(`warm tui: ${signal ? `signal ${signal}` : exitCode}\n`);
  process.exit(0);
});
