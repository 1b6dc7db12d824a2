/** What the engine itself says about a sandbox: the half of the evidence that nothing inside can forge. */
import * as z from 'zod/mini';
import type { ContainerInfo, Engine } from '../../engine/index.ts';
import { SELFTEST_LIMITS } from '../../wire/index.ts';
import { LABELS } from '../sandbox/sandbox.ts';

const names = () => z.catch(z.nullable(z.array(z.string())), null);
const address = z.catch(z.string(), '');

/** The fields of an engine's answer that decide; engines leave out or null what was not asked for. */
const Inspected = z.object({
  Config: z.object({ User: z.catch(z.string(), '') }),
  HostConfig: z.object({
    CapAdd: names(),
    Privileged: z.catch(z.boolean(), false),
    ReadonlyRootfs: z.catch(z.boolean(), false),
    SecurityOpt: names(),
    NetworkMode: z.catch(z.string(), ''),
    PidMode: z.catch(z.string(), ''),
    IpcMode: z.catch(z.string(), ''),
    Memory: z.catch(z.number(), 0),
    PidsLimit: z.catch(z.nullable(z.number()), null),
    Tmpfs: z.catch(z.nullable(z.record(z.string(), z.string())), null),
    Devices: z.catch(z.nullable(z.array(z.unknown())), null),
  }),
});

const Networks = z.object({
  NetworkSettings: z.object({
    Networks: z.record(z.string(), z.object({ IPAddress: address, GlobalIPv6Address: address })),
  }),
});

export interface EngineView {
  readonly user: string;
  readonly capabilitiesAdded: readonly string[];
  readonly privileged: boolean;
  readonly readOnlyRoot: boolean;
  readonly securityOptions: readonly string[];
  readonly networkMode: string;
  readonly pidMode: string;
  readonly ipcMode: string;
  readonly devices: number;
  readonly memoryBytes: number;
  readonly pids: number;
  readonly networks: readonly string[];
  readonly mounts: ContainerInfo['mounts'];
  /** Options of each tmpfs it was started with. */
  readonly tmpfs: Readonly<Record<string, string>>;
  /** Where this engine's own socket is on this machine. */
  readonly socket: string | undefined;
  /** Networks a sandbox of this project may be on: its domain's, or its own where the engine needs that (S17). */
  readonly ownNetworks: readonly string[];
  /** Addresses of the installation's other sandboxes. */
  readonly otherSandboxes: readonly string[];
  readonly podman: boolean;
}

/** @throws Error when the engine's answer is not one about a container */
export async function engineView(
  engine: Engine,
  container: ContainerInfo,
  facts: Pick<EngineView, 'otherSandboxes' | 'ownNetworks'>,
): Promise<EngineView> {
  const { Config, HostConfig } = Inspected.parse(container.raw);
  return {
    user: Config.User,
    capabilitiesAdded: HostConfig.CapAdd ?? [],
    privileged: HostConfig.Privileged,
    readOnlyRoot: HostConfig.ReadonlyRootfs,
    securityOptions: HostConfig.SecurityOpt ?? [],
    networkMode: HostConfig.NetworkMode,
    pidMode: HostConfig.PidMode,
    ipcMode: HostConfig.IpcMode,
    devices: HostConfig.Devices?.length ?? 0,
    memoryBytes: HostConfig.Memory,
    pids: HostConfig.PidsLimit ?? 0,
    networks: container.networks,
    mounts: container.mounts,
    tmpfs: HostConfig.Tmpfs ?? {},
    socket: engine.local ? engine.address : undefined,
    ...facts,
    podman: await engine.system.isPodman(),
  };
}

/** Addresses of every other running sandbox of the installation, of whatever domain (S17). */
export async function addressesOfOthers(engine: Engine, prefix: string, own: string): Promise<string[]> {
  const all = await engine.containers.list({ [LABELS.prefix]: prefix, [LABELS.role]: 'sandbox' });
  const others = all.filter(({ name, state }) => name !== own && state === 'running');
  const inspected = await Promise.all(
    others.slice(0, SELFTEST_LIMITS.addresses).map(({ id }) => engine.containers.inspect(id)),
  );
  return inspected
    .flatMap((container) => {
      const { data } = Networks.safeParse(container?.raw);
      return Object.values(data?.NetworkSettings.Networks ?? {});
    })
    .flatMap((network) => [network.IPAddress, network.GlobalIPv6Address])
    .filter((found) => found !== '')
    .slice(0, SELFTEST_LIMITS.addresses);
}
