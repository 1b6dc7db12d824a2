import { homedir } from 'node:os';
import { type ContainerClient, containerClient } from './clients/containers.ts';
import { type ImageClient, imageClient } from './clients/images.ts';
import { type NetworkClient, networkClient } from './clients/networks.ts';
import { type SystemClient, systemClient } from './clients/system.ts';
import { type VolumeClient, volumeClient } from './clients/volumes.ts';
import { addressOf } from './endpoint.ts';
import { findEngine } from './find-engine.ts';
import { rootlessOwner } from './rootless.ts';
import type { EngineSearch } from './strategies.ts';
import { createTransport } from './transport.ts';

/** One engine, with a client for each kind of thing on it. */
export interface Engine {
  /** Its address as a user would write it. */
  address: string;
  /** The strategy that found it. */
  foundBy: string;
  /** On this machine: its limits and paths are ours. */
  local: boolean;
  /** The host user who is uid 0 in the containers of a rootless engine on this machine; undefined for other engines. */
  rootlessOwner(): Promise<number | undefined>;
  containers: ContainerClient;
  images: ImageClient;
  volumes: VolumeClient;
  networks: NetworkClient;
  system: SystemClient;
  /** Closes idle connections; streams in use go on. */
  close(): void;
}

/**
 * Finds the engine and prepares to talk to it (S19). Cheap: it connects at most to local sockets, and asks nothing.
 * @param options.engine the value of `--engine`
 */
export async function openEngine(
  options: Pick<EngineSearch, 'engine' | 'env'> & Partial<EngineSearch>,
): Promise<Engine> {
  const search = { home: options.env.HOME || homedir(), ...options };
  const { endpoint, strategy } = await findEngine(search);
  const transport = await createTransport(endpoint, strategy);
  const system = systemClient(transport);
  return {
    address: addressOf(endpoint),
    foundBy: strategy,
    local: transport.local,
    rootlessOwner: () => rootlessOwner(endpoint, system.info),
    containers: containerClient(transport),
    images: imageClient(transport),
    volumes: volumeClient(transport),
    networks: networkClient(transport),
    system,
    close: transport.close,
  };
}
