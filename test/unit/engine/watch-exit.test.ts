import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openEngine } from '../../../src/engine/index.ts';

it('S14: whoever starts a container knows first that the engine watches for its end', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'pi-sandbox-watch-'));
  const asked = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, response) => asked.resolve(response));
  const socket = join(directory, 'engine.sock');
  await once(server.listen(socket), 'listening');
  const engine = await openEngine({ engine: `unix://${socket}`, env: {}, home: directory });
  onTestFinished(() => {
    engine.close();
    server.close();
    rmSync(directory, { recursive: true, force: true });
  });
  let watches = false;
  const watching = engine.containers.watchExit('c').then((watched) => {
    watches = true;
    return watched;
  });
  const response = await asked.promise;
  await new Promise((settle) => setTimeout(settle, 50));
  expect(watches).toBe(false);
  // As Docker and Podman do as soon as they have found the container.
  response.writeHead(200, { server: 'Docker/20', 'content-type': 'application/json' }).flushHeaders();
  const { exit } = await watching;
  response.end('{"StatusCode":42}');
  expect(await exit).toEqual({ code: 42, error: undefined });
});
