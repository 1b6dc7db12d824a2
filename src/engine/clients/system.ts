import type { Transport } from '../transport.ts';
import { number, object, objects, text, texts } from './fields.ts';

export interface EngineInfo {
  /** The engine's host name. */
  name: string;
  isPodman: boolean;
  version: string;
  apiVersion: string;
  operatingSystem: string;
  cgroupVersion: string;
  totalMemoryBytes: number;
  cpus: number;
  rootless: boolean;
  securityOptions: string[];
  /** The engine's clock in milliseconds since 1970, as far as it tells. */
  systemTime: number | undefined;
  dataRoot: string;
  /** What makes Podman's networks: `netavark` or `cni`; undefined on other engines. */
  networkBackend: string | undefined;
}

export interface SystemClient {
  info(): Promise<EngineInfo>;
  /** Podman or Docker; costs a round trip only when no other call was answered yet. */
  isPodman(): Promise<boolean>;
  /** Bytes each volume takes, by name; it can take long, the engine walks them all. */
  volumeSizes(): Promise<Map<string, number>>;
}

export function systemClient(transport: Transport): SystemClient {
  return {
    async info() {
      const isPodman = (await transport.kind()) === 'podman';
      const [info, version, own] = await Promise.all([
        transport.call({ method: 'GET', path: '/info' }),
        transport.call({ method: 'GET', path: '/version' }),
        isPodman ? transport.call({ method: 'GET', path: '/v4.0.0/libpod/info' }) : undefined,
      ]);
      if (info.status !== 200) throw transport.failure('cannot ask the engine about itself', info);
      const facts = object(info.json);
      const versions = object(version.json);
      const securityOptions = texts(facts.SecurityOptions);
      const systemTime = Date.parse(text(facts.SystemTime));
      return {
        name: text(facts.Name),
        isPodman,
        version: text(versions.Version),
        apiVersion: text(versions.ApiVersion),
        operatingSystem: text(facts.OperatingSystem),
        cgroupVersion: text(facts.CgroupVersion),
        totalMemoryBytes: number(facts.MemTotal),
        cpus: number(facts.NCPU),
        // Docker says it among the security options, Podman in a field of its own.
        rootless: facts.Rootless === true || securityOptions.some((option) => option.includes('rootless')),
        securityOptions,
        systemTime: Number.isNaN(systemTime) ? undefined : systemTime,
        dataRoot: text(facts.DockerRootDir),
        networkBackend: text(object(object(own?.json).host).networkBackend) || undefined,
      };
    },
    isPodman: async () => (await transport.kind()) === 'podman',
    async volumeSizes() {
      const answer = await transport.call({
        method: 'GET',
        path: '/system/df',
        query: { type: 'volume' },
        timeoutMs: 120_000,
      });
      if (answer.status !== 200) throw transport.failure('cannot measure volumes', answer);
      const rows = objects(object(answer.json).Volumes);
      return new Map(rows.map((row) => [text(row.Name), number(object(row.UsageData).Size)]));
    },
  };
}
