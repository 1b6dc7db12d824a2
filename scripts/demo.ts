/**
 * `npm run demo` (S23): pi on `examples/hello`, answered by the demo model. In a terminal it is pi's own interface,
 * elsewhere one question whose answer is printed. It is an installation of its own (prefix `demo-`, no configuration),
 * so it touches nothing of the user's; everything it made goes with `npm run demo -- --remove`.
 */
import { spawn, spawnSync } from 'node:child_process';
import { constants } from 'node:os';

const env = {
  ...process.env,
  PI_SANDBOX_INSTALLATION_PREFIX: 'demo-',
  PI_SANDBOX_CONFIG_DIR: 'examples/demo-configuration',
};
const command = 'dist/cli/pi-sandbox.mjs';

if (process.argv.includes('--remove')) {
  process.exit(remove());
}

const terminal = process.stdin.isTTY && process.stdout.isTTY;
const question = ['--', '-p', 'What do you see here?'];
const words = ['start', 'examples/hello', '--demo', '--offline-base', ...(terminal ? [] : question)];
const child = spawn(process.execPath, [command, ...words], {
  env,
  stdio: terminal ? 'inherit' : ['ignore', 'inherit', 'inherit'],
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
child.on('close', (code, signal) => {
  process.exit(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
});

/** Containers, network, volumes and images of the demo, by their exact names. */
function remove(): number {
  spawnSync(process.execPath, [command, 'stop', '--all'], { env, stdio: 'inherit' });
  const engine = spawnSync('docker', ['version'], { stdio: 'ignore' }).status === 0 ? 'docker' : 'podman';
  spawnSync(
    engine,
    ['volume', 'rm', 'demo-pi-agent-state', 'demo-pi-sessions-default', 'demo-pi-domain-state-default'],
    { stdio: 'inherit' },
  );
  const images = spawnSync(engine, ['images', '-q', '--filter', 'label=pi-sandbox.prefix=demo-'], {
    encoding: 'utf8',
  });
  const ids = [...new Set(images.stdout.split('\n').filter(Boolean))];
  return ids.length === 0 ? 0 : (spawnSync(engine, ['rmi', '-f', ...ids], { stdio: 'inherit' }).status ?? 1);
}
