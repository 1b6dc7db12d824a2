/** What is taken for left over, by the engine's own clock: this engine's is years ahead of ours. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { CanonicalPath, DomainId, loadConfig } from '../../../src/cli/config/index.ts';
import { ensureNetwork, removeOldNetworks } from '../../../src/cli/sandbox/network.ts';
import { type Sandbox, sandboxOf } from '../../../src/cli/sandbox/sandbox.ts';
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

const network = (name: string, created: string, subnet = '10.0.0.0/26') => ({
  Id: name,
  Name: name,
  Created: created,
  Labels: { 'pi-sandbox.prefix': '', 'pi-sandbox.role': 'network' },
  IPAM: { Config: [{ Subnet: subnet }] },
});

/** A container in the domain that is not running any more. */
const ended = (domain: string) => ({
  Id: domain,
  Names: [`/${domain}`],
  State: 'exited',
  Labels: { 'pi-sandbox.prefix': '', 'pi-sandbox.role': 'sandbox', 'pi-sandbox.domain': domain },
});

async function sandboxIn(home: string, env: NodeJS.ProcessEnv = {}): Promise<Sandbox> {
  const config = await loadConfig({ env, home });
  const project = { canonical: CanonicalPath.parse(home), display: home, owner: { uid: 1, gid: 1 } };
  return sandboxOf(config, DomainId.parse('default'), project, project.owner);
}

it('S17: a start that makes a network removes those that ended sandboxes have left, and no fresh one', async () => {
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
    return [ended('used')];
  });
  expect(await ensureNetwork(engine, await sandboxIn(home))).toBe('pi-network-default');
  await vi.waitFor(() => expect(removed).toEqual([expect.stringContaining('/networks/pi-network-left')]));
});

/** A pool of two subnets, both taken: by networks of these domains, one of which still has a container. */
async function fullPool(domains: [string, string], used: string) {
  const subnets = ['10.9.0.0/26', '10.9.0.64/26'];
  const names = domains.map((domain) => `pi-network-${domain}`);
  let made = false;
  const gone = (name: string) => fixture.removed.some((path) => path.endsWith(`/${name}`));
  const fixture = await engineWith((asked) => {
    if (asked.endsWith('/networks/create')) made = true;
    if (asked.endsWith('/containers/json')) return [ended(used)];
    if (!asked.endsWith('/networks')) return {};
    const left = names.map((name, at) => network(name, '2090-01-01T00:00:00Z', subnets[at]));
    const own = made ? [network('pi-network-default', '2090-01-01T00:00:01Z')] : [];
    return [...left.filter(({ Name }) => !gone(Name)), ...own];
  });
  return {
    ...fixture,
    sandbox: await sandboxIn(fixture.home, { PI_SANDBOX_NETWORK_POOL: '10.9.0.0/25' }),
    isMade: () => made,
  };
}

it('S17: a start that finds no free subnet takes that of a network without containers, however fresh', async () => {
  const { engine, sandbox, removed } = await fullPool(['left', 'used'], 'used');
  expect(await ensureNetwork(engine, sandbox)).toBe('pi-network-default');
  expect(removed).toEqual([expect.stringContaining('/networks/pi-network-left')]);
});

it('S17: where every subnet is in use a start says so, and removes nothing', async () => {
  const { engine, sandbox, removed, isMade } = await fullPool(['used', 'used'], 'used');
  await expect(ensureNetwork(engine, sandbox)).rejects.toThrow(/no free subnet/);
  expect([removed, isMade()]).toEqual([[], false]);
});

it('S17: ps removes networks without containers that are old by the engine’s clock, and no other', async () => {
  const { engine, removed, home } = await engineWith((asked) => {
    if (asked.endsWith('/info')) return { SystemTime: '2090-01-01T00:02:00Z' };
    if (asked.endsWith('/containers/json')) return [ended('used')];
    if (!asked.endsWith('/networks')) return {};
    return [
      network('pi-network-left', '2090-01-01T00:00:00Z'),
      network('pi-network-fresh', '2090-01-01T00:01:30Z'),
      network('pi-network-used', '2089-01-01T00:00:00Z'),
    ];
  });
  const { config } = await sandboxIn(home);
  expect(await removeOldNetworks(engine, config.INSTALLATION_PREFIX)).toEqual(['pi-network-left']);
  expect(removed).toEqual([expect.stringContaining('/networks/pi-network-left')]);
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
