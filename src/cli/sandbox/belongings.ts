/** Everything on an engine that belongs to an installation, or to one domain of it, and its removal (S15). */
import type { ContainerSummary, Engine } from '../../engine/index.ts';
import type { Config, DomainId } from '../config/index.ts';
import { ownImages } from './image.ts';
import { domainOfNetworkName, isSandboxName, volumeOfName } from './names.ts';
import { LABELS } from './sandbox.ts';

export interface Belonging {
  readonly kind: 'container' | 'network' | 'volume' | 'image';
  /** What the engine calls it. */
  readonly name: string;
  readonly id: string;
  /** Undefined for what all domains share. */
  readonly domain: string | undefined;
  /** Where the engine tells it. */
  readonly sizeBytes?: number;
  readonly state?: ContainerSummary['state'];
}

/**
 * What is there, in the order in which it can be removed. Volumes and networks are ours by their exact names, containers
 * and images by their labels (S1); with `domain` only what is that domain's alone.
 */
export async function belongings(
  engine: Engine,
  config: Config,
  domain: DomainId | undefined,
): Promise<Belonging[]> {
  const prefix = config.INSTALLATION_PREFIX;
  const [containers, networks, volumes, sizes, images] = await Promise.all([
    engine.containers.list({ [LABELS.prefix]: prefix }),
    engine.networks.list({ [LABELS.prefix]: prefix }),
    engine.volumes.list({ namePrefix: prefix }),
    engine.system.volumeSizes().catch(() => new Map<string, number>()),
    domain === undefined ? ownImages(engine, prefix) : [],
  ]);
  const found: Belonging[] = [
    ...containers.map(({ id, name, labels, state }): Belonging => {
      return { kind: 'container', id, name, domain: labels[LABELS.domain], state };
    }),
    ...networks.flatMap(({ id, name, labels }): Belonging[] => {
      // On an engine that cannot cut containers off from each other, a sandbox's own has the sandbox's name.
      const ofSandbox = isSandboxName(prefix, name) ? labels[LABELS.domain] : undefined;
      const of = domainOfNetworkName(prefix, name) ?? ofSandbox;
      return of === undefined ? [] : [{ kind: 'network', id, name, domain: of }];
    }),
    ...volumes.flatMap(({ name }): Belonging[] => {
      const volume = volumeOfName(prefix, name);
      const sizeBytes = sizes.get(name);
      if (volume === undefined) return [];
      const size = sizeBytes === undefined || sizeBytes < 0 ? {} : { sizeBytes };
      return [{ kind: 'volume', id: name, name, domain: volume.domain, ...size }];
    }),
    ...images.map(({ id, tags, sizeBytes }): Belonging => {
      return { kind: 'image', id, name: tags[0] ?? id.slice(0, 19), domain: undefined, sizeBytes };
    }),
  ];
  return domain === undefined ? found : found.filter((one) => one.domain === domain);
}

/** What became of it; `in-use` names what the engine will not let go, by something that is not ours. */
export type Removal = 'removed' | 'in-use';

/** Removes one thing that no sandbox of ours uses any more. Of something that is gone already, it says removed. */
export async function removeBelonging(engine: Engine, { kind, id, name }: Belonging): Promise<Removal> {
  switch (kind) {
    case 'container': {
      await engine.containers.remove(id, { force: true });
      await engine.containers.waitRemoved(id, 30_000);
      return 'removed';
    }
    case 'network':
      return (await engine.networks.remove(id)) === 'in-use' ? 'in-use' : 'removed';
    case 'volume':
      return (await engine.volumes.remove(name)) === 'in-use' ? 'in-use' : 'removed';
    case 'image':
      return removeImage(engine, id);
  }
}

/** By each of its names, as nothing is forced: the engine keeps one that a container or another image stands on. */
async function removeImage(engine: Engine, id: string): Promise<Removal> {
  const image = await engine.images.inspect(id);
  if (image === undefined) return 'removed';
  const names = image.tags.length > 0 ? image.tags : [id];
  const outcomes = await Promise.all(names.map((tag) => engine.images.remove(tag)));
  return outcomes.includes('in-use') ? 'in-use' : 'removed';
}
