import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine, NetworkInfo } from '../../engine/index.ts';
import { OperationError } from '../../lib/errors.ts';
import { DomainId, type InstallationPrefix } from '../config/index.ts';
import { networkName } from './names.ts';
import { domainLabels, LABELS, type Sandbox } from './sandbox.ts';
import { subnetsOf } from './subnets.ts';

/** How many subnets are tried when another program takes the chosen one between our look and our create. */
const TRIES = 16;
/** Between two tries, and more with each. */
const PAUSE_MS = 50;

/**
 * The network that the sandbox joins: its domain's, made when missing, each with a /26 of its own (S17). An engine
 * that cannot keep containers on one network apart gives each sandbox a network of its own instead.
 */
export async function ensureNetwork(engine: Engine, sandbox: Sandbox): Promise<string> {
  const { INSTALLATION_PREFIX, NETWORK_POOL } = sandbox.config;
  const name = await nameFor(engine, sandbox);
  const look = async (): Promise<{ id: string | undefined; networks: NetworkInfo[] }> => {
    const networks = await engine.networks.list({});
    return { id: await onlyOne(engine, networks, name), networks };
  };
  const refused: string[] = [];
  let cleared = false;
  for (let tries = 0; tries < TRIES; tries++) {
    // One that is being made is refused to others, and not listed yet.
    if (tries > 0) await sleep(PAUSE_MS + Math.random() * tries * PAUSE_MS);
    const before = await look();
    if (before.id !== undefined && !(await wasForgotten(engine, before.networks, before.id)))
      return before.id;
    const taken = [...refused, ...before.networks.flatMap(({ subnets }) => subnets)];
    const [subnet] = subnetsOf(NETWORK_POOL, taken);
    if (subnet === undefined) {
      // Once, whatever their age: what ended sandboxes have left may be all that the pool lacks.
      if (cleared || (await removeUnusedNetworks(engine, INSTALLATION_PREFIX)).length === 0) break;
      cleared = true;
      continue;
    }
    const labels = domainLabels(sandbox, 'network');
    const { outcome } = await engine.networks.create({ name, subnet, labels, isolateContainers: true });
    if (outcome === 'pool-overlaps') refused.push(subnet);
    if (outcome !== 'created') continue;
    // Looked for even now: another start may have made one too, at the same moment.
    const made = await look();
    if (made.id === undefined) continue;
    clearOld(engine, INSTALLATION_PREFIX, made.networks, made.id);
    return made.id;
  }
  throw new OperationError("no free subnet for the domain's network", {
    hint: 'set NETWORK_POOL= to a private range that nothing else uses',
  });
}

/**
 * Podman may have forgotten of a network that is there that it is to be kept apart from others (src/engine/clients): one
 * that an ended sandbox has left goes, to be made again. Not one that another start has just made.
 */
async function wasForgotten(engine: Engine, networks: readonly NetworkInfo[], id: string): Promise<boolean> {
  const network = networks.find((each) => each.id === id);
  if (network?.labels[LABELS.role] !== 'network' || !(await engine.system.isPodman())) return false;
  const { systemTime } = await engine.system.info();
  if (systemTime === undefined || !isOld(systemTime)(network)) return false;
  return (await engine.networks.remove(id)) !== 'in-use';
}

/**
 * The network of that name. Docker makes two when it is asked twice at the same moment, and while there are two no
 * container starts on either: so whoever sees several removes all but one, and a start that meets them looks again.
 */
async function onlyOne(
  engine: Engine,
  networks: readonly NetworkInfo[],
  name: string,
): Promise<string | undefined> {
  const [oldest, ...others] = networks
    .filter((network) => network.name === name)
    .sort((a, b) => order(a).localeCompare(order(b)));
  if (oldest === undefined || others.length === 0) return oldest?.id;
  const used: string[] = [];
  // All starts go through them in the same order, and one that a sandbox runs on stays.
  for (const { id } of others.reverse()) {
    if ((await engine.networks.remove(id)) === 'in-use') used.push(id);
  }
  if (used[0] === undefined || (await engine.networks.remove(oldest.id)) === 'in-use') return oldest.id;
  return used[0];
}

function order({ created, id }: NetworkInfo): string {
  return `${created} ${id}`;
}

/** Between a network and the first container on it lie moments, and the build of an image at most. */
const OLD_MS = 60_000;

/**
 * Sandboxes that end by themselves leave their network: it is used again by the domain's next, or removed here when
 * another is made, beside the start that makes it. Its age is by the engine's own clock alone; a start that loses a
 * network all the same makes one again.
 */
function clearOld(
  engine: Engine,
  prefix: InstallationPrefix,
  networks: readonly NetworkInfo[],
  made: string,
): void {
  const now = Date.parse(networks.find(({ id }) => id === made)?.created ?? '');
  void removeUnusedNetworks(engine, prefix, isOld(now)).catch(() => undefined);
}

/** For a command that makes none: removes what ended sandboxes have left, and nothing that a start has just made. */
export async function removeOldNetworks(engine: Engine, prefix: InstallationPrefix): Promise<string[]> {
  const { systemTime: now } = await engine.system.info();
  return now === undefined ? [] : removeUnusedNetworks(engine, prefix, isOld(now));
}

function isOld(now: number): (network: NetworkInfo) => boolean {
  return ({ created }) => now - Date.parse(created) > OLD_MS;
}

/** Takes back the network of a sandbox that does not come to be. */
export async function removeUnusedNetworkOf(engine: Engine, sandbox: Sandbox): Promise<void> {
  const own = await nameFor(engine, sandbox);
  await removeUnusedNetworks(engine, sandbox.config.INSTALLATION_PREFIX, ({ name }) => name === own);
}

/** Removes the installation's networks, or those of them, that no sandbox uses any more; one in use is left. */
export async function removeUnusedNetworks(
  engine: Engine,
  prefix: InstallationPrefix,
  which: (network: NetworkInfo) => boolean = () => true,
): Promise<string[]> {
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
      .filter((network) => !used.has(network.name) && which(network))
      .map(async ({ id, name }) => ((await engine.networks.remove(id)) === 'removed' ? [name] : [])),
  );
  return removed.flat();
}

async function nameFor(engine: Engine, sandbox: Sandbox): Promise<string> {
  return (await engine.system.isPodman()) ? sandbox.name : sandbox.network;
}
