import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Pack, pack } from 'tar-stream';
import { type ContainerSpec, type Engine, openEngine } from '../../src/engine/index.ts';

export const LABEL = 'pi-sandbox-engine-test';

/** Everything a round makes carries this name, so that it removes its own and nothing else. */
export interface Round {
  engine: Engine;
  name: string;
  image: string;
  spec(overrides: Partial<ContainerSpec>): ContainerSpec;
  end(): Promise<void>;
}

export async function dockerRound(): Promise<Round> {
  return beginRound(await openEngine({ env: process.env }), async () => {});
}

/** A Podman service of its own, ended with the round. */
export async function podmanRound(): Promise<Round> {
  const dir = await mkdtemp(path.join(tmpdir(), 'pi-engine-'));
  const socket = path.join(dir, 'podman.sock');
  const service = spawn('podman', ['system', 'service', '--time=0', `unix://${socket}`], { stdio: 'ignore' });
  await listening(socket, service);
  return beginRound(await openEngine({ env: {}, engine: `unix://${socket}` }), async () => {
    service.kill();
    await rm(dir, { recursive: true, force: true });
  });
}

async function listening(socket: string, service: ChildProcess) {
  for (let waited = 0; waited < 10_000 && service.exitCode === null; waited += 50) {
    if (existsSync(socket)) return;
    await sleep(50);
  }
  throw new Error('podman system service did not come up');
}

async function beginRound(engine: Engine, stopEngine: () => Promise<void>): Promise<Round> {
  const name = `pi-engine-test-${process.pid}-${Date.now().toString(36)}`;
  const image = `${name}:busybox`;
  await engine.images.importTar({
    tar: await busyboxRoot(),
    name: image,
    changes: ['ENV PATH=/bin', `LABEL ${LABEL}=${name}`],
  });
  return {
    engine,
    name,
    image,
    spec: (overrides) => ({
      image,
      user: '1000:1000',
      labels: { [LABEL]: name },
      network: { mode: 'none' },
      ...overrides,
    }),
    async end() {
      const containers = await engine.containers.list({ [LABEL]: name });
      await Promise.all(
        containers.map((container) => engine.containers.remove(container.id, { force: true })),
      );
      for (const volume of await engine.volumes.list({ namePrefix: name }))
        await engine.volumes.remove(volume.name);
      for (const network of await engine.networks.list({ [LABEL]: name }))
        await engine.networks.remove(network.id);
      for (const { id } of await engine.images.list({ [LABEL]: name }))
        await engine.images.remove(id, { force: true });
      await engine.images.remove(image, { force: true });
      engine.close();
      await stopEngine();
    },
  };
}

/** A root file system of one static program and its names. */
async function busyboxRoot(): Promise<Pack> {
  const tar = pack();
  for (const dir of ['bin', 'tmp', 'data', 'etc']) tar.entry({ name: dir, type: 'directory', mode: 0o777 });
  tar.entry({ name: 'bin/busybox', mode: 0o755 }, await readFile(await busyboxFile()));
  for (const applet of [
    'sh',
    'cat',
    'sleep',
    'stat',
    'id',
    'ls',
    'env',
    'mount',
    'true',
    'touch',
    'grep',
    'wc',
    'yes',
  ]) {
    tar.entry({ name: `bin/${applet}`, type: 'symlink', linkname: 'busybox' });
  }
  tar.finalize();
  return tar;
}

async function busyboxFile(): Promise<string> {
  const found = ['/bin/busybox', '/usr/bin/busybox'].find((file) => existsSync(file));
  if (found === undefined) throw new Error('this test needs busybox: apt-get install busybox-static');
  return found;
}

/** All of a stream, as text. */
export async function textOf(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
