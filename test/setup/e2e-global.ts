/**
 * Prepares what every e2e test needs, once: the built command as a package of its own, an engine that answers, and
 * the session image, made by the command itself. A build that somebody starts meanwhile does not reach the tests.
 */
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import type { TestProject } from 'vitest/node';
import { engineOf, PODMAN_INSTALLED } from './engines.ts';
import { sweep } from './leftovers.ts';
import { cleanEnvironment, type E2e, SCRATCH } from './scene.ts';

declare module 'vitest' {
  interface ProvidedContext {
    e2e: E2e;
  }
}

const ROOT = resolve(import.meta.dirname, '../..');
/** The image stays under this installation's name, so that the next run need not build it. */
const IMAGE_PREFIX = 'e2e-';
const MODULE_BUILD_MS = 60_000;
const IMAGE_BUILD_MS = 900_000;

export default async function setup(
  project: Pick<TestProject, 'provide'>,
  imagePrefix = IMAGE_PREFIX,
): Promise<() => Promise<void>> {
  await requireEngine();
  mkdirSync(SCRATCH, { recursive: true, mode: 0o755 });
  const directory = mkdtempSync(join(SCRATCH, 'run-'));
  // A rootless engine's user has to reach the projects in it.
  chmodSync(directory, 0o711);
  const run = `t${directory.slice(-6).toLowerCase()}`;
  const root = await buildPackage(join(directory, 'package'));
  const built = await buildImage(root, directory, imagePrefix);
  // A name of this run's own: another run may remove what has become old for it.
  const image = `${run}-${built}`;
  await engineOf('docker').command(['tag', built, image]);
  project.provide('e2e', { run, root, image, directory });
  return async () => {
    await sweep(engineOf('docker'), run);
    if (PODMAN_INSTALLED) await sweep(engineOf('podman'), run);
    rmSync(directory, { recursive: true, force: true });
  };
}

async function requireEngine(): Promise<void> {
  const answer = await execa('docker', ['version', '--format', '{{.Server.Version}}'], {
    reject: false,
    timeout: 20_000,
  });
  if (answer.exitCode === 0) return;
  throw new Error(
    `the e2e tests need a running Docker Engine, and none answers: ${answer.stderr || answer.shortMessage}\n` +
      'Set one up with: sh scripts/setup-engine.sh',
  );
}

/** The package as it is installed: what the build makes, and the files that it reads beside it. */
async function buildPackage(root: string): Promise<string> {
  mkdirSync(root);
  for (const name of ['src', 'scripts', 'docs', 'node_modules', 'package-lock.json']) {
    symlinkSync(join(ROOT, name), join(root, name));
  }
  for (const name of ['package.json', 'docker']) {
    cpSync(join(ROOT, name), join(root, name), {
      recursive: true,
      filter: (path) => !path.startsWith(join(ROOT, 'docker/node_modules')),
    });
  }
  await execa(process.execPath, ['scripts/build.ts'], { cwd: root, timeout: MODULE_BUILD_MS });
  return root;
}

/** With the certificates and the base image that this environment names, as a user's build would. */
async function buildImage(root: string, directory: string, prefix: string): Promise<string> {
  const { NODE_EXTRA_CA_CERTS, SSL_CERT_FILE, NPM_CONFIG_REGISTRY } = process.env;
  const { HTTP_PROXY, HTTPS_PROXY, NO_PROXY, http_proxy, https_proxy, no_proxy } = process.env;
  const env = {
    ...cleanEnvironment(join(directory, 'home')),
    ...{ NODE_EXTRA_CA_CERTS, SSL_CERT_FILE, NPM_CONFIG_REGISTRY },
    ...{ HTTP_PROXY, HTTPS_PROXY, NO_PROXY, http_proxy, https_proxy, no_proxy },
    PI_SANDBOX_INSTALLATION_PREFIX: prefix,
  };
  const image = async (...args: string[]): Promise<string> => {
    const command = [join(root, 'dist/cli/pi-sandbox.mjs'), 'image', ...args];
    const { stdout } = await execa(process.execPath, command, {
      env,
      extendEnv: false,
      cwd: directory,
      timeout: IMAGE_BUILD_MS,
      stderr: ['pipe', 'inherit'],
    });
    return stdout.trim();
  };
  const name = await image('build', '--offline-base');
  await image('prune');
  return name;
}
