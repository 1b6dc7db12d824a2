/** What a start makes of an engine's answers; the engine is a list of answers on a socket. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { DomainId, loadConfig } from '../../../src/cli/config/index.ts';
import { openSandbox } from '../../../src/cli/sandbox/open-sandbox.ts';
import { resolveProject } from '../../../src/cli/sandbox/project.ts';
import { sandboxOf } from '../../../src/cli/sandbox/sandbox.ts';
import type { StartPlan } from '../../../src/cli/sandbox/start-plan.ts';
import { openEngine } from '../../../src/engine/index.ts';
import { TimeoutError } from '../../../src/lib/errors.ts';

// The bundler puts it in.
vi.stubGlobal('PI_SANDBOX_VERSION', '0.0.0');

type Answer = [status: number, body: unknown];

/** Stands for an engine with volumes; `creates` are its answers to each creation of a container, `state` is that of one. */
async function planOn(creates: Answer[], buildTakesMs: number, state?: string): Promise<StartPlan> {
  const directory = mkdtempSync(join(tmpdir(), 'pi-sandbox-start-'));
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    let answer: Answer = [404, { message: 'no such container' }];
    if (path.startsWith('/containers/create')) answer = creates.shift() ?? [500, { message: 'the end' }];
    else if (path.endsWith('/json') && state !== undefined) answer = [200, { State: { Status: state } }];
    else if (path.startsWith('/volumes/')) answer = [200, { Name: 'v' }];
    request.resume().on('end', () => {
      response.writeHead(answer[0], { 'content-type': 'application/json' }).end(JSON.stringify(answer[1]));
    });
  });
  await new Promise<void>((resolve) => server.listen(join(directory, 'engine.sock'), resolve));
  const engine = await openEngine({ engine: `unix://${directory}/engine.sock`, env: {}, home: directory });
  onTestFinished(() => {
    engine.close();
    server.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const config = await loadConfig({ env: {}, home: directory });
  const project = await resolveProject(directory, { cwd: directory, home: '/nowhere' });
  let now = 0;
  const opening = Promise.reject(new Error('nothing is opened here'));
  opening.catch(() => undefined);
  return {
    engine,
    sandbox: sandboxOf(config, DomainId.parse('default'), project, { uid: 1, gid: 1 }),
    options: Promise.resolve({ memoryBytes: 2 ** 30, readOnlyProject: false, mounts: [], environment: {} }),
    onlyForNew: [],
    network: 'none',
    image: () => 'image:1',
    buildImage: async () => {
      now += buildTakesMs;
    },
    opening,
    clock: {
      now: () => new Date(now),
      monotonic: () => now,
      sleep: async (milliseconds) => {
        now += milliseconds;
      },
    },
    debug: () => undefined,
  };
}

const noImage: Answer = [404, { message: 'No such image: image:1' }];

it('S14, S21: a build of the image takes as long as it takes, and the start goes on after it', async () => {
  const plan = await planOn([noImage, [500, { message: 'asked again after the build' }]], 600_000);
  await expect(openSandbox(plan)).rejects.toThrow(/asked again after the build/);
});

it('S14: an image that is gone after each build ends in one clear line', async () => {
  const plan = await planOn(
    Array.from({ length: 9 }, () => noImage),
    50_000,
  );
  await expect(openSandbox(plan)).rejects.toThrow(TimeoutError);
});

it('S14: a sandbox that somebody paused is said to be paused, at once', async () => {
  const plan = await planOn([[409, { message: 'the name is already in use' }]], 0, 'paused');
  await expect(openSandbox(plan)).rejects.toMatchObject({
    message: expect.stringContaining('is paused'),
    hint: expect.stringContaining('docker unpause'),
  });
});
