/** What is taken for left over, by the engine's own clock: this engine's is years ahead of ours. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { CanonicalPath, DomainId, loadConfig } from '../../../src/cli/config/index.ts';
import { ensureNetwork } from '../../../src/cli/sandbox/network.ts';
import { sandboxOf } from '../../../src/cli/sandbox/sandbox.ts';
import { removeAbandonedHelpers } from '../../../src/cli/sandbox/volumes.ts';
import { type Engine, openEngine } from '../../../src/engine/index.ts';

// The bundler puts it in.
vi.stubGlobal('PI_SANDBOX_VERSION', '0.0.0');

/** Answers by `METHOD /path`; whatever is deleted is noted. */
async function engineWith(
  answers: (request: string) => unknown,
): Promise<{ engine: Engine; removed: string[]; home: string }> {
  const home = mkdtempSync(join(tmpdir(), 'pi-sandbox-leftovers-'));
  const removed: string[] = [];
  const server = createServer((request, response) => {
    const asked = `${request.method} ${request.url?.split('?')[0]}`;
    if (request.method === 'DELETE') removed.push(asked);
    request.resume().on('end', () => {
      const status = request.method === 'DELETE' ? 204 : request.method === 'POST' ? 201 : 200;
      const body = request.method === 'DELETE' ? '' : JSON.stringify(answers(asked));
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(join(home, 'engine.sock'), resolve));
  const engine = await openEngine({ engine: `unix://${home}/engine.sock`, env: {}, home });
  onTestFinished(() => {
    engine.close();
    server.closeAllConnections();
    server.close();
    rmSync(home, { recursive: true, force: true });
  });
  return { engine, removed, home };
}

it('S17: a start that makes a network removes those that ended sandboxes have left, and no fresh one', async () => {
  const network = (name: string, created: string) => ({
    Id: name,
    Name: name,
    Created: created,
    Labels: { 'pi-sandbox.prefix': '', 'pi-sandbox.role': 'network' },
  });
  const others = [
    network('pi-network-left', '2090-01-01T00:00:00.123456789+02:00'),
    network('pi-network-fresh', '2089-12-31T22:02:00Z'),
    network('pi-network-used', '2089-01-01T00:00:00Z'),
  ];
  let made = false;
  const { engine, removed, home } = await engineWith((asked) => {
    if (asked.endsWith('/networks/create')) made = true;
    if (asked.endsWith('/networks'))
      return made ? [...others, network('pi-network-default', '2089-12-31T22:02:30Z')] : others;
    if (!asked.endsWith('/containers/json')) return {};
    const labels = { 'pi-sandbox.prefix': '', 'pi-sandbox.role': 'sandbox', 'pi-sandbox.domain': 'used' };
    return [{ Id: 'a', Names: ['/a'], State: 'exited', Labels: labels }];
  });
  const config = await loadConfig({ env: {}, home });
  const project = { canonical: CanonicalPath.parse(home), display: home, owner: { uid: 1, gid: 1 } };
  const sandbox = sandboxOf(config, DomainId.parse('default'), project, project.owner);
  expect(await ensureNetwork(engine, sandbox)).toBe('pi-network-default');
  await vi.waitFor(() => expect(removed).toEqual([expect.stringContaining('/networks/pi-network-left')]));
});

it('S16: a helper that was never started is old by the engine’s clock alone', async () => {
  const second = (text: string) => Date.parse(text) / 1_000;
  const helper = (id: string, created: string, state = 'created') => ({
    Id: id,
    Names: [`/${id}`],
    State: state,
    Created: second(created),
    Labels: { 'pi-sandbox.prefix': '', 'pi-sandbox.role': 'helper' },
  });
  const { engine, removed } = await engineWith((asked) => {
    if (asked.endsWith('/info')) return { SystemTime: '2090-01-01T00:01:00.5Z' };
    if (!asked.endsWith('/containers/json')) return {};
    return [
      helper('old', '2090-01-01T00:00:00Z'),
      helper('new', '2090-01-01T00:00:58Z'),
      helper('at-work', '2089-01-01T00:00:00Z', 'running'),
    ];
  });
  await removeAbandonedHelpers(engine, '');
  expect(removed).toEqual([expect.stringContaining('/containers/old')]);
});
