import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const SCRIPT = path.resolve(import.meta.dirname, '../../../scripts/setup-engine.sh');

describe('setup-engine.sh', () => {
  let dir: string;
  let env: NodeJS.ProcessEnv;

  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'pi-setup-'));
    env = {
      PATH: process.env.PATH,
      HOME: dir,
      SETUP_DOCKER_SOCKET: path.join(dir, 'docker.sock'),
      SETUP_PODMAN_SOCKET: path.join(dir, 'podman.sock'),
      SETUP_PROC: path.join(dir, 'proc'),
      SETUP_WAIT_SECONDS: '1',
    };
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  /** The whole script, or one of its functions. */
  async function run(args: string[], extra: NodeJS.ProcessEnv = {}) {
    const child = spawn('sh', args, { env: { ...env, ...extra }, stdio: ['ignore', 'pipe', 'pipe'] });
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, stderr };
  }
  const call = (script: string, extra: NodeJS.ProcessEnv = {}) =>
    run(['-c', `. "$0"; ${script}`, SCRIPT], { ...extra, SETUP_SOURCED: 'yes' });

  async function withEngine<T>(body: () => Promise<T>): Promise<T> {
    const server = createServer((request, response) => response.end(request.url === '/_ping' ? 'OK' : ''));
    await new Promise<void>((resolve) => server.listen(env.SETUP_DOCKER_SOCKET, resolve));
    try {
      return await body();
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  async function makeProcess(pid: number, name: string) {
    await mkdir(path.join(dir, 'proc', String(pid)), { recursive: true });
    await writeFile(path.join(dir, 'proc', String(pid), 'comm'), `${name}\n`);
  }

  it('S23: an engine that answers is enough, silently', async () => {
    expect(await withEngine(() => run([SCRIPT]))).toEqual({ code: 0, stderr: '' });
  });

  it('S23: PI_SANDBOX_SETUP=no forbids, and says what to install', async () => {
    const { code, stderr } = await run([SCRIPT], { PI_SANDBOX_SETUP: 'no' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^pi-sandbox: no working container engine.*(docker|Docker)/);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  it('S23: an unknown option is a usage error', async () => {
    expect((await run([SCRIPT, '--frob'])).code).toBe(2);
  });

  it('S23: an engine the user chose is left to the user', async () => {
    expect(await run([SCRIPT], { DOCKER_HOST: 'tcp://127.0.0.1:1' })).toEqual({ code: 0, stderr: '' });
  });

  it.each([
    ['of no process', '4242', undefined, false],
    ['whose number is now another program', '4242', 'bash', false],
    ['that is empty', '', undefined, false],
    ['of the living daemon', '4242', 'dockerd', true],
  ])('S23: a pid file %s is removed only when stale', async (_what, content, name, kept) => {
    const file = path.join(dir, 'docker.pid');
    await writeFile(file, content);
    if (name !== undefined) await makeProcess(4242, name);
    const { code } = await call(`as_root() { "$@"; }; clear_stale_pid "${file}" dockerd`);
    expect(code).toBe(0);
    expect(existsSync(file)).toBe(kept);
  });

  it('S23: waiting ends at once when the daemon has died, else at its bound', async () => {
    expect((await call('wait_for "$SETUP_DOCKER_SOCKET" 4242 600')).code).toBe(1);
    expect((await call('wait_for "$SETUP_DOCKER_SOCKET" "" 1')).code).toBe(1);
    expect((await withEngine(() => call('wait_for "$SETUP_DOCKER_SOCKET" ""'))).code).toBe(0);
  });
});
