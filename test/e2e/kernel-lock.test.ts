/** The lock as rule 1 needs it: between containers of their own, over one volume, with what the image ships. */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { engineOf } from '../setup/engines.ts';
import { sweep } from '../setup/leftovers.ts';

const { run, image } = inject('e2e');
const PREFIX = `${run}-lock-`;
const VOLUME = `${PREFIX}volume`;
const docker = engineOf('docker');

const PROGRAM = `
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { isHeld, takeLock } from './src/lib/kernel-lock.ts';

const path = '/volume/session.lock';
const record = { pid: process.pid, host: process.env.ROLE, startedAt: new Date().toISOString(), what: 'test' };
const roles = {
  async hold() {
    await takeLock(path, { record });
    spawn('sleep', ['300'], { detached: true, stdio: 'ignore' });
    console.log('held by ' + process.pid);
    setInterval(() => {}, 1_000);
  },
  async look() {
    const held = isHeld(path);
    const holder = await takeLock(path).then((lock) => lock.release(), (error) => error.record?.host ?? error.message);
    console.log(JSON.stringify({ held, holder: holder ?? null }));
  },
  async count() {
    for (let i = 0; i < 150; i++) {
      const lock = await takeLock(path, { waitMs: 30_000 });
      const count = Number(readFileSync('/volume/counter', 'utf8'));
      if (i % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      writeFileSync('/volume/counter', String(count + 1));
      lock.release();
    }
  },
};
await roles[process.env.ROLE]();
`;

let program = '';

beforeAll(async () => {
  const { outputFiles } = await build({
    stdin: {
      contents: PROGRAM,
      resolveDir: fileURLToPath(new URL('../..', import.meta.url)),
      loader: 'js',
    },
    bundle: true,
    format: 'esm',
    platform: 'node',
    external: ['fs-native-extensions'],
    write: false,
  });
  program = outputFiles[0]?.text ?? '';
  await docker.command(['volume', 'create', VOLUME]);
});

afterAll(() => sweep(docker, PREFIX));

/** Options of a container that runs the program, which comes on its standard input, beside the image's modules. */
function container(role: string): string[] {
  const options = ['--rm', '-i', '--network', 'none', '-v', `${VOLUME}:/volume`, '-w', '/opt/pi-sandbox'];
  return ['run', ...options, '-e', `ROLE=${role}`];
}

function finish(role: string): Promise<string> {
  const command = ['--entrypoint', 'node', image, '--input-type=module', '-'];
  return docker.command([...container(role), ...command], { input: program });
}

/** The program in the background of a container that lives on without it, and its pid there. */
async function startHolder(name: string): Promise<{ client: ChildProcess; pid: string }> {
  const script = 'exec 3<&0; node --input-type=module - <&3 & exec sleep 300';
  const client = spawn('docker', [
    ...container('hold'),
    ...['--init', '--name', name, '--entrypoint', 'sh', image, '-c', script],
  ]);
  client.stdin.end(program);
  const [line] = await Promise.race([
    client.stdout.setEncoding('utf8').take(1).toArray(),
    new Promise<never>((_resolve, reject) =>
      client.once('exit', (code) => reject(new Error(`the holder ended: ${code}`))),
    ),
  ]);
  const pid = /^held by (\d+)$/m.exec(String(line))?.[1];
  if (pid === undefined) throw new Error(`the holder said: ${line}`);
  return { client, pid };
}

it('rule 1: a lock held in one container is held for another, until its process dies, not its container', async () => {
  const name = `${PREFIX}holder`;
  const { client, pid } = await startHolder(name);
  expect(JSON.parse(await finish('look'))).toEqual({ held: true, holder: 'hold' });
  await docker.command(['exec', name, 'sh', '-c', `kill -KILL ${pid}`]);
  expect(JSON.parse(await finish('look'))).toEqual({ held: false, holder: null });
  expect(await docker.command(['exec', name, 'pgrep', '-c', '-x', 'sleep'])).toBe('2');
  expect(client.exitCode).toBeNull();
});

it('rule 1: a lock goes with its container', async () => {
  const name = `${PREFIX}killed`;
  await startHolder(name);
  await docker.command(['kill', name]);
  expect(JSON.parse(await finish('look'))).toEqual({ held: false, holder: null });
});

it('rule 1: containers that take turns never meet', async () => {
  const zero = [
    'run',
    '--rm',
    '-v',
    `${VOLUME}:/volume`,
    '--entrypoint',
    'sh',
    image,
    '-c',
    'echo 0 >/volume/counter',
  ];
  await docker.command(zero);
  await Promise.all([finish('count'), finish('count')]);
  const shown = ['run', '--rm', '-v', `${VOLUME}:/volume`, '--entrypoint', 'cat', image, '/volume/counter'];
  expect(await docker.command(shown)).toBe('300');
});
