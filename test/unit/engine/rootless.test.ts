import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openEngine } from '../../../src/engine/index.ts';

/** An engine that says this about itself, on a socket of that user's; and how often it was asked. */
async function engineThatSays(info: object, uid: number) {
  const directory = mkdtempSync(join(tmpdir(), 'pi-sandbox-rootless-'));
  let asked = 0;
  const server = createServer((request, response) => {
    if (request.url === '/info') asked++;
    response.setHeader('content-type', 'application/json').end(JSON.stringify(info));
  });
  const socket = join(directory, 'engine.sock');
  await new Promise<void>((settle) => server.listen(socket, settle));
  chownSync(socket, uid, uid);
  const engine = await openEngine({ engine: `unix://${socket}`, env: {}, home: directory });
  onTestFinished(() => {
    engine.close();
    server.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return { owner: await engine.rootlessOwner(), asked };
}

// Only root can give a socket away.
describe.runIf(process.getuid?.() === 0)('S2: whose rootless engine it is', () => {
  it('S2: Docker says it among its security options, Podman in a word of its own', async () => {
    const docker = { SecurityOptions: ['name=seccomp,profile=default', 'name=rootless'] };
    expect((await engineThatSays(docker, 4_242)).owner).toBe(4_242);
    const podman = { SecurityOptions: ['name=seccomp,profile=default'], Rootless: true };
    expect((await engineThatSays(podman, 4_242)).owner).toBe(4_242);
  });

  it('S2: a socket that was given to a user does not make root’s engine his', async () => {
    expect((await engineThatSays({ SecurityOptions: [], Rootless: false }, 4_242)).owner).toBeUndefined();
  });

  it('S2: an engine whose socket is root’s is not even asked', async () => {
    expect(await engineThatSays({ Rootless: true }, 0)).toEqual({ owner: undefined, asked: 0 });
  });
});
