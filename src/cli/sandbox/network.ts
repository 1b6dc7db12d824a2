import type { Engine } from '../../engine/index.ts';
import { OperationError } from '../../lib/errors.ts';
import { DomainId, type InstallationPrefix } from '../config/index.ts';
import { networkName } from './names.ts';
import { domainLabels, LABELS, type Sandbox } from './sandbox.ts';
import { subnetsOf } from './subnets.ts';

/** How many subnets are tried when another program takes the chosen one between our look and our create. */
const TRIES = 16;

/**
 * The network that the sandbox joins: its domain's, made when missing, each with a /26 of its own (S17). An engine
 * that cannot keep containers on one network apart gives each sandbox a network of its own instead.
 */
export async function ensureNetwork(engine: Engine, sandbox: Sandbox): Promise<string> {
  const [existing, networks] = await Promise.all([findNetwork(engine, sandbox), engine.networks.list({})]);
  if (existing !== undefined) return existing;
  const taken = networks.flatMap(({ subnets }) => subnets);
  let tries = 0;
  for (const subnet of subnetsOf(sandbox.config.NETWORK_POOL, taken)) {
    const result = await engine.networks.create({
      name: await nameFor(engine, sandbox),
      subnet,
      labels: domainLabels(sandbox, 'network'),
      isolateContainers: true,
    });
    if (result.outcome === 'created') return result.id;
    const made = await findNetwork(engine, sandbox);
    if (made !== undefined) return made;
    if (++tries >= TRIES) break;
  }
  throw new OperationError("no free subnet for the domain's network", {
    hint: 'set NETWORK_POOL= to a private range that nothing else uses',
  });
}

/** The oldest network of that name: engines may hold two where two starts made one at the same moment. */
async function findNetwork(engine: Engine, sandbox: Sandbox): Promise<string | undefined> {
  const name = await nameFor(engine, sandbox);
  const found = await engine.networks.inspect(name);
  return found?.name === name ? found.id : undefined;
}

/** Removes the installation's networks that no sandbox uses any more; one in use is left. */
export async function removeUnusedNetworks(engine: Engine, prefix: InstallationPrefix): Promise<string[]> {
  const [networks, containers] = await Promise.all([
    engine.networks.list({ [LABELS.prefix]: prefix, [LABELS.role]: 'network' }),
    engine.containers.list({ [LABELS.prefix]: prefix, [LABELS.role]: 'sandbox' }),
  ]);
  const used = new Set(containers.map(({ name }) => name));
  for (const { labels } of containers) {
    const domain = DomainId.safeParse(labels[LABELS.domain]).data;
    if (domain !== undefined) used.add(networkName(prefix, domain));
  }
  const removed = await Promise.all(
    networks
      .filter(({ name }) => !used.has(name))
      .map(async ({ id, name }) => ((await engine.networks.remove(id)) === 'removed' ? [name] : [])),
  );
  return removed.flat();
}

async function nameFor(engine: Engine, sandbox: Sandbox): Promise<string> {
  return (await engine.system.isPodman()) ? sandbox.name : sandbox.network;
}
