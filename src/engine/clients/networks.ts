import { pathOf, type Transport } from '../transport.ts';
import {
  hasLabels,
  type Json,
  type LabelFilter,
  labelFilters,
  object,
  objects,
  text,
  textMap,
} from './fields.ts';

export interface NetworkInfo {
  id: string;
  name: string;
  labels: Record<string, string>;
  subnets: string[];
  /** When it was made, as the engine writes it: ISO 8601 in the engine's own time zone. */
  created: string;
}

export interface NetworkSpec {
  name: string;
  /** In CIDR form; the engine's default pools run out at 31 networks (S17). */
  subnet: string;
  labels: Readonly<Record<string, string>>;
  /** Containers on it must reach neither each other nor those of other such networks. */
  isolateContainers: boolean;
}

export type NetworkResult =
  /** `isolated` is false where the engine can't keep containers on one network apart: use one for each sandbox. */
  | { outcome: 'created'; id: string; isolated: boolean }
  | { outcome: 'exists' | 'pool-overlaps'; message: string };

export interface NetworkClient {
  inspect(idOrName: string): Promise<NetworkInfo | undefined>;
  list(labels: LabelFilter): Promise<NetworkInfo[]>;
  create(spec: NetworkSpec): Promise<NetworkResult>;
  remove(idOrName: string): Promise<'removed' | 'gone' | 'in-use'>;
}

export function networkClient(transport: Transport): NetworkClient {
  const { call } = transport;
  return {
    inspect: (idOrName) => inspect(transport, idOrName),
    async list(labels) {
      const path = (await transport.kind()) === 'podman' ? `${LIBPOD}/json` : '/networks';
      const answer = await call({ method: 'GET', path, query: { filters: labelFilters(labels) } });
      if (answer.status !== 200) throw transport.failure('cannot list networks', answer);
      return objects(answer.json)
        .map(networkInfo)
        .filter((network) => hasLabels(network.labels, labels));
    },
    create: (spec) => create(transport, spec),
    async remove(idOrName) {
      // By its id Podman removes a network even from under running containers, by its name it refuses.
      const podman = (await transport.kind()) === 'podman';
      const name = podman ? (await inspect(transport, idOrName))?.name : idOrName;
      if (name === undefined) return 'gone';
      const answer = await call({ method: 'DELETE', path: pathOf`/networks/${name}` });
      if (answer.status === 404) return 'gone';
      // Docker: 403 "has active endpoints"; Podman: 500 "is being used".
      if (/active endpoints|being used|in use|associated containers/i.test(answer.message)) return 'in-use';
      if (answer.status !== 204 && answer.status !== 200)
        throw transport.failure(`cannot remove network ${name}`, answer);
      return 'removed';
    },
  };
}

/**
 * Podman's own way to look at networks. When it is asked in Docker's way, Podman 4.3 forgets until it reads its files
 * again that they are to be kept apart, and containers that it starts meanwhile reach those of other networks.
 */
const LIBPOD = '/v4.0.0/libpod/networks';

async function inspect(transport: Transport, idOrName: string): Promise<NetworkInfo | undefined> {
  const own = (await transport.kind()) === 'podman';
  const path = own ? `${LIBPOD}${pathOf`/${idOrName}`}/json` : pathOf`/networks/${idOrName}`;
  const answer = await transport.call({ method: 'GET', path });
  if (answer.status === 404) return undefined;
  if (answer.status !== 200) throw transport.failure(`cannot inspect network ${idOrName}`, answer);
  return networkInfo(object(answer.json));
}

/** What keeps containers apart: on one network of Docker's, which keeps networks apart anyway, and Podman's networks. */
const ISOLATION = {
  docker: { 'com.docker.network.bridge.enable_icc': 'false' },
  podman: { isolate: 'true' },
} as const;

async function create(transport: Transport, spec: NetworkSpec): Promise<NetworkResult> {
  // On one network Podman's containers always reach each other.
  const kind = await transport.kind();
  const isolated = spec.isolateContainers && kind === 'docker';
  const body = {
    Name: spec.name,
    Driver: 'bridge',
    // Without it Docker makes a second network of the same name; with it still, when asked twice at the same moment.
    CheckDuplicate: true,
    IPAM: { Driver: 'default', Config: [{ Subnet: spec.subnet }] },
    Labels: spec.labels,
    Options: spec.isolateContainers ? ISOLATION[kind] : {},
  };
  const answer = await transport.call({ method: 'POST', path: '/networks/create', body });
  const { status, message } = answer;
  if (status === 201 || status === 200)
    return { outcome: 'created', id: text(object(answer.json).Id), isolated };
  if (/overlap|already (being )?used (on|by)|conflicts with|is being used by/i.test(message)) {
    return { outcome: 'pool-overlaps', message };
  }
  if (status === 409 || /already exists|already used/i.test(message)) return { outcome: 'exists', message };
  throw transport.failure(`cannot create network ${spec.name}`, answer);
}

/** In Docker's words or in Podman's own. */
function networkInfo(row: Json): NetworkInfo {
  return {
    id: text(row.Id ?? row.id),
    name: text(row.Name ?? row.name),
    labels: textMap(row.Labels ?? row.labels),
    subnets: objects(row.subnets ?? object(row.IPAM).Config).map(({ Subnet, subnet }) =>
      text(Subnet ?? subnet),
    ),
    created: text(row.Created ?? row.created),
  };
}
