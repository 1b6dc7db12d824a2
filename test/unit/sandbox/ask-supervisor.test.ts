import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { askSupervisor } from '../../../src/cli/sandbox/ask-supervisor.ts';
import { openEngine } from '../../../src/engine/index.ts';

it('S15: an engine that does not even answer the exec is not waited for', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'pi-sandbox-ask-'));
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(join(directory, 'engine.sock'), resolve));
  const engine = await openEngine({ engine: `unix://${directory}/engine.sock`, env: {}, home: directory });
  onTestFinished(() => {
    engine.close();
    server.closeAllConnections();
    server.close();
    rmSync(directory, { recursive: true, force: true });
  });
  // The engine itself would give up after five seconds.
  const answer = await Promise.race([
    askSupervisor(engine, 'hanging', { verb: 'status' }, 50),
    new Promise((resolve) => setTimeout(resolve, 3_000, 'waited')),
  ]);
  expect(answer).toBeUndefined();
});
