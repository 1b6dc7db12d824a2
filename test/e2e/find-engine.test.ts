/** How the command finds a real engine, and what it says of one that hangs; who is asked first is a unit test (S19). */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ENGINES, readyEngine } from '../setup/engines.ts';
import { type Installation, installation } from '../setup/installation.ts';

describe.each(ENGINES)('S19: finding %s', (kind) => {
  let here: Installation;
  let address: string;

  beforeAll(async () => {
    here = await installation(await readyEngine(kind, inject('e2e')));
    address = here.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock';
    const docker = join(here.env.HOME ?? '', '.docker');
    const meta = join(docker, 'contexts/meta', createHash('sha256').update('mine').digest('hex'));
    mkdirSync(meta, { recursive: true });
    const context = { Name: 'mine', Metadata: {}, Endpoints: { docker: { Host: address } } };
    writeFileSync(join(meta, 'meta.json'), JSON.stringify(context));
  });

  afterAll(async () => {
    await here.cleanup();
  });

  const currentContext = (name: string) =>
    writeFileSync(join(here.env.HOME ?? '', '.docker/config.json'), JSON.stringify({ currentContext: name }));
  const list = (options: readonly string[], env: NodeJS.ProcessEnv) =>
    here.run(['--debug', ...options, 'volumes', 'list'], { env: { DOCKER_HOST: undefined, ...env } });

  it('S19: by --engine, by DOCKER_HOST, by a named docker context and by the current one', async () => {
    const tries = [
      { by: '--engine', options: ['--engine', address], env: {}, current: '' },
      { by: '--engine', options: ['--engine', 'mine'], env: {}, current: '' },
      { by: 'DOCKER_HOST', options: [], env: { DOCKER_HOST: address }, current: '' },
      { by: 'docker context mine', options: [], env: { DOCKER_CONTEXT: 'mine' }, current: '' },
      { by: 'docker context mine', options: [], env: {}, current: 'mine' },
    ];
    for (const { by, options, env, current } of tries) {
      currentContext(current);
      const { exitCode, stderr } = await list(options, env);
      expect({ exitCode, stderr }).toEqual({
        exitCode: 0,
        stderr: expect.stringContaining(`engine: ${address.replace('unix://', '')} (${by})`),
      });
    }
    currentContext('');
  });

  it('S19: one that accepts and says nothing is named within seconds, and one that is gone at once', async () => {
    const path = join(here.directory, 'silent.sock');
    const server = createServer();
    await once(server.listen(path), 'listening');
    const before = Date.now();
    const silent = await list([], { DOCKER_HOST: `unix://${path}` });
    server.close();
    expect(silent.exitCode).toBe(1);
    expect(silent.stderr).toContain(
      `(DOCKER_HOST): ${path} accepts connections but did not answer within 5 s`,
    );
    expect(Date.now() - before).toBeLessThan(30_000);
    const gone = await list([], { DOCKER_HOST: `unix://${path}.gone` });
    expect(gone).toMatchObject({ exitCode: 1, stdout: '' });
    expect(gone.stderr).toContain('does not exist');
  });
});
