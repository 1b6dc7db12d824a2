/** The engines that tests run on, each looked at through its own command line and not through the code under test. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { takeLock } from '../../src/lib/kernel-lock.ts';
import { until } from './pi.ts';

const HAND_OVER_MS = 240_000;

export interface TestEngine {
  readonly kind: 'docker' | 'podman';
  /** For the command under test; empty for the engine that it finds by itself. */
  readonly env: NodeJS.ProcessEnv;
  /** Runs the engine's own command and returns its output; fails when it does, unless `tolerant`. */
  command(args: readonly string[], options?: { input?: string; tolerant?: boolean }): Promise<string>;
  close(): Promise<void>;
}

/** @param connection options of the engine's own command by which it reaches this engine and no other */
export function engineOf(kind: TestEngine['kind'], connection: readonly string[] = []): TestEngine {
  return {
    kind,
    env: {},
    async command(args, { input, tolerant = false } = {}) {
      const result = await execa(kind, [...connection, ...args], {
        ...(input === undefined ? { stdin: 'ignore' } : { input }),
        reject: false,
        timeout: 120_000,
        maxBuffer: 64 * 1024 * 1024,
      });
      if (result.exitCode !== 0 && !tolerant) {
        throw new Error(`${kind} ${args.join(' ')}: ${result.stderr || result.shortMessage}`);
      }
      return result.stdout;
    },
    close: () => Promise.resolve(),
  };
}

export const PODMAN_INSTALLED = spawnSync('podman', ['--version']).status === 0;

/** What a test runs on that is to hold on every engine (S19). */
export const ENGINES: readonly TestEngine['kind'][] = PODMAN_INSTALLED ? ['docker', 'podman'] : ['docker'];

/** The engine of that kind, ready for tests: with the image, and for Podman with a service of its own. */
export async function readyEngine(
  kind: TestEngine['kind'],
  { directory, image }: { directory: string; image: string },
): Promise<TestEngine> {
  if (kind === 'docker') return engineOf(kind);
  return podmanEngine(mkdtempSync(join(directory, 'podman-')), image);
}

/** Podman with an API service of its own, and the image handed over from Docker under the same name. */
export async function podmanEngine(directory: string, image: string): Promise<TestEngine> {
  const podman = engineOf('podman');
  const socket = join(directory, 'podman.sock');
  const service = spawn('podman', ['system', 'service', '--time=0', `unix://${socket}`], { stdio: 'ignore' });
  await until('podman system service', () => service.exitCode !== null || existsSync(socket));
  await handOver(podman, image);
  return {
    ...podman,
    // A pool of its own: rules that one engine makes for an address would let the other's container of that address out.
    env: { DOCKER_HOST: `unix://${socket}`, PI_SANDBOX_NETWORK_POOL: '10.214.0.0/16' },
    close: () => ended(service),
  };
}

/** One file after the other: two loads of the same image at once can lose its name. */
async function handOver(podman: TestEngine, image: string): Promise<void> {
  const lock = await takeLock(join(tmpdir(), 'pi-sandbox-e2e-podman.lock'), { waitMs: HAND_OVER_MS });
  try {
    if ((await podman.command(['images', '-q', image], { tolerant: true })) !== '') return;
    const options = { timeout: HAND_OVER_MS };
    await execa('docker', ['save', image], { ...options, buffer: false, encoding: 'buffer' }).pipe(
      'podman',
      ['load'],
      options,
    );
  } finally {
    lock?.release();
  }
}

async function ended(child: ChildProcess): Promise<void> {
  const closed = new Promise((settle) => child.once('exit', settle));
  if (child.exitCode !== null || !child.kill()) return;
  await closed;
}
