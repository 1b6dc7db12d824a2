import { isIP } from 'node:net';
import { totalmem } from 'node:os';
import { isAbsolute } from 'node:path';
import * as z from 'zod/mini';
import type { Engine, MountSpec, PublishSpec } from '../../engine/index.ts';
import { UsageError } from '../../lib/errors.ts';
import { type Config, settingFromFlag } from '../config/index.ts';
import type { GlobalOptions } from '../global-options.ts';

/** What `start` and `shell` take on the command line. */
export interface StartOptions extends GlobalOptions {
  domain?: string;
  env?: string[];
  memory?: string;
  cpus?: string;
  network?: string;
  readOnlyProject?: boolean;
  mount?: string[];
  publish?: string[];
  withDomain?: string[];
  name?: string;
  rebuild?: boolean;
  build: boolean;
  offlineBase?: boolean;
  trustProjectConfig?: boolean;
  force?: boolean;
  verbose?: boolean;
  demo?: boolean;
  sshAgent?: boolean;
  gitCredentials?: boolean;
  gitCredentialHosts?: string;
}

const GIBIBYTE = 2 ** 30;
const DEFAULT_MEMORY_BYTES = 4 * GIBIBYTE;

/** The options given that only a new container can take, as the user wrote them (S14). */
export function onlyForNew(options: StartOptions): string[] {
  const given: [string, unknown][] = [
    ['--memory', options.memory],
    ['--cpus', options.cpus],
    ['--network', options.network],
    ['--read-only-project', options.readOnlyProject],
    ['--mount', options.mount],
    ['--publish', options.publish],
    ['--with-domain', options.withDomain],
    ['--name', options.name],
    ['--rebuild', options.rebuild],
  ];
  return given.filter(([, value]) => value !== undefined).map(([flag]) => flag);
}

/**
 * What only a new container can take, as far as it is kept with the container (S15). `--force` goes with it: the project
 * was accepted once.
 */
export const KeptOptions = z.object({
  memory: z.exactOptional(z.string()),
  cpus: z.exactOptional(z.string()),
  network: z.exactOptional(z.string()),
  readOnlyProject: z.exactOptional(z.boolean()),
  mount: z.exactOptional(z.array(z.string())),
  publish: z.exactOptional(z.array(z.string())),
  withDomain: z.exactOptional(z.array(z.string())),
  name: z.exactOptional(z.string()),
  force: z.exactOptional(z.boolean()),
});
export type KeptOptions = z.infer<typeof KeptOptions>;

/** Memory limit in bytes: the flag, the key, or 4 GiB and never more than half of the engine's host (S17). */
export async function memoryLimit(options: StartOptions, config: Config, engine: Engine): Promise<number> {
  if (options.memory !== undefined)
    return settingFromFlag('MEMORY', options.memory, '--memory') ?? DEFAULT_MEMORY_BYTES;
  if (config.MEMORY !== undefined) return config.MEMORY;
  const total = engine.local ? totalmem() : (await engine.system.info()).totalMemoryBytes;
  return Math.min(DEFAULT_MEMORY_BYTES, Math.floor(total / 2));
}

export function cpuLimit(options: StartOptions, config: Config): number | undefined {
  return options.cpus === undefined ? config.CPUS : settingFromFlag('CPUS', options.cpus, '--cpus');
}

export function networkMode(options: StartOptions, config: Config): 'open' | 'none' {
  return options.network === undefined
    ? config.NETWORK
    : settingFromFlag('NETWORK', options.network, '--network');
}

/** A name as docker allows it: it is shown in listings, and must not look like a path. */
export function aliasOf({ name }: StartOptions): string | undefined {
  if (name === undefined || /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/.test(name)) return name;
  throw new UsageError(`--name is ${JSON.stringify(name)}; allowed: 1 to 63 of A-Z a-z 0-9 _ . -`);
}

/** `NAME=value`, or `NAME` for the value it has here; as docker reads it, one without a value here is left out. */
export function environmentFromFlags(
  given: readonly string[] = [],
  env: NodeJS.ProcessEnv,
): Record<string, string> {
  const result: Record<string, string> = {};
  for (const entry of given) {
    const [name = '', ...rest] = entry.split('=');
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw new UsageError(`--env ${JSON.stringify(entry.slice(0, 60))} is not NAME or NAME=value`);
    }
    const value = rest.length > 0 ? rest.join('=') : env[name];
    if (value !== undefined) result[name] = value;
  }
  return result;
}

/** `type=bind,source=/a,target=/b[,readonly]` as docker's `--mount`; host directories are all that is allowed. */
export function mountsFromFlags(given: readonly string[] = []): MountSpec[] {
  return given.map((text) => {
    const fields = new Map(
      text.split(',').map((part): [string, string] => {
        const at = part.indexOf('=');
        return at < 0 ? [part, 'true'] : [part.slice(0, at), part.slice(at + 1)];
      }),
    );
    const source = fields.get('source') ?? fields.get('src');
    const target = fields.get('target') ?? fields.get('dst') ?? fields.get('destination');
    const readOnly = fields.get('readonly') ?? fields.get('ro');
    const known = ['type', 'source', 'src', 'target', 'dst', 'destination', 'readonly', 'ro'];
    const unknown = [...fields.keys()].find((key) => !known.includes(key));
    if (fields.get('type') !== 'bind' || unknown !== undefined) {
      throw new UsageError(`--mount ${text}: expected type=bind,source=…,target=…[,readonly]`);
    }
    if (source === undefined || target === undefined || !isAbsolute(source) || !isAbsolute(target)) {
      throw new UsageError(`--mount ${text}: source and target must be absolute paths`);
    }
    return { type: 'bind', source, target, readOnly: readOnly !== undefined && readOnly !== 'false' };
  });
}

/** As docker's `--publish`, but on loopback unless an address is given; a container port alone gets a free one (S14). */
export function publishedFromFlags(
  given: readonly string[] = [],
  network: 'open' | 'none',
  project: string,
): PublishSpec[] {
  const [first] = given;
  if (first !== undefined && network === 'none') {
    throw new UsageError(`--publish ${first}: a sandbox without a network cannot publish ports`, {
      hint: `pi-sandbox forward ${first.split(':').at(-1)} ${project} reaches one without`,
    });
  }
  return given.map((text) => {
    const match =
      /^(?:(?:(?<ip>\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:]+\]):)?(?<host>\d{0,5}):)?(?<container>\d{1,5})$/.exec(
        text.replace(/\/tcp$/, ''),
      );
    const { ip = '127.0.0.1', host = '', container = '' } = match?.groups ?? {};
    const spec = {
      hostIp: ip.replace(/^\[|\]$/g, ''),
      hostPort: Number(host),
      containerPort: Number(container),
    };
    const right = isIP(spec.hostIp) !== 0 && spec.hostPort <= 65_535 && isPort(spec.containerPort);
    if (match === null || !right) {
      throw new UsageError(
        `--publish ${text}: expected [[address:]host-port:]container-port, ports from 1 to 65535`,
      );
    }
    return spec;
  });
}

function isPort(value: number): boolean {
  return value >= 1 && value <= 65_535;
}
