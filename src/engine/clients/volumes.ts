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
  time,
} from './fields.ts';

export interface VolumeInfo {
  name: string;
  labels: Record<string, string>;
  driver: string;
  createdAt: number | undefined;
}

export interface VolumeClient {
  inspect(name: string): Promise<VolumeInfo | undefined>;
  /** Idempotent: a volume of that name is left as it is, labels included. */
  create(volume: { name: string; labels: Readonly<Record<string, string>> }): Promise<VolumeInfo>;
  /** By labels, or all whose name starts with `namePrefix` (the engines' own name filter finds substrings). */
  list(filter: { labels?: LabelFilter; namePrefix?: string }): Promise<VolumeInfo[]>;
  remove(name: string): Promise<'removed' | 'gone' | 'in-use'>;
}

export function volumeClient(transport: Transport): VolumeClient {
  const { call } = transport;
  const inspect: VolumeClient['inspect'] = async (name) => {
    const answer = await call({ method: 'GET', path: pathOf`/volumes/${name}` });
    if (answer.status === 404) return undefined;
    if (answer.status !== 200) throw transport.failure(`cannot inspect volume ${name}`, answer);
    return volumeInfo(object(answer.json));
  };
  return {
    inspect,
    async create({ name, labels }) {
      const answer = await call({
        method: 'POST',
        path: '/volumes/create',
        body: { Name: name, Labels: labels },
      });
      if (answer.status === 201 || answer.status === 200) return volumeInfo(object(answer.json));
      // Podman says so of one that another client makes at the same moment.
      const there = /already exists/.test(answer.message) ? await inspect(name) : undefined;
      if (there === undefined) throw transport.failure(`cannot create volume ${name}`, answer);
      return there;
    },
    async list({ labels = {}, namePrefix = '' }) {
      const answer = await call({
        method: 'GET',
        path: '/volumes',
        query: { filters: labelFilters(labels) },
      });
      if (answer.status !== 200) throw transport.failure('cannot list volumes', answer);
      return objects(object(answer.json).Volumes)
        .map(volumeInfo)
        .filter((volume) => volume.name.startsWith(namePrefix) && hasLabels(volume.labels, labels));
    },
    async remove(name) {
      const answer = await call({ method: 'DELETE', path: pathOf`/volumes/${name}` });
      if (answer.status === 404) return 'gone';
      if (answer.status === 409 || /in use|being used/i.test(answer.message)) return 'in-use';
      if (answer.status !== 204) throw transport.failure(`cannot remove volume ${name}`, answer);
      return 'removed';
    },
  };
}

function volumeInfo(row: Json): VolumeInfo {
  return {
    name: text(row.Name),
    labels: textMap(row.Labels),
    driver: text(row.Driver),
    createdAt: time(row.CreatedAt),
  };
}
