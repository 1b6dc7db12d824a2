import { OLD_SESSIONS_PLACE } from '../../agent-dir/index.ts';
import type { Engine, VolumeInfo } from '../../engine/index.ts';
import { LEGACY_SEAL } from '../../history/index.ts';
import { OperationError, UsageError } from '../../lib/errors.ts';
import { jsonText } from '../../lib/json-text.ts';
import { bytes, table } from '../../lib/table.ts';
import type { Config, DomainId } from '../config/index.ts';
import { openContext } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import { listSandboxes } from '../sandbox/find-sandboxes.ts';
import { planImage } from '../sandbox/image.ts';
import { type VolumeRole, volumeOfName } from '../sandbox/names.ts';
import { resolveProject, sandboxUser } from '../sandbox/project.ts';
import { runHelper } from '../sandbox/volumes.ts';
import { confirm } from '../ui/prompt.ts';

interface OwnVolume extends VolumeInfo {
  role: VolumeRole;
  domain: DomainId | undefined;
}

const PURPOSE: Record<VolumeRole, string> = {
  'agent-state': 'login, trust, packages, caches',
  sessions: 'session history',
  'domain-state': 'home, sign-ins, logs',
};

/** Lists the installation's volumes; what is ours is told by the exact name, not by a label (S1). */
export async function volumesList(options: GlobalOptions & { json?: boolean }): Promise<number> {
  const { config, engine } = await openContext(options);
  const [volumes, sizes] = await Promise.all([
    ownVolumes(engine, config),
    engine.system.volumeSizes().catch(() => new Map<string, number>()),
  ]);
  engine.close();
  if (options.json === true) {
    const rows = volumes.map(({ name, role, domain, createdAt }) => ({
      name,
      role,
      domain,
      createdAt,
      sizeBytes: sizes.get(name),
    }));
    process.stdout.write(`${jsonText({ version: 1, volumes: rows }, 2)}\n`);
    return 0;
  }
  const lines = volumes.map(({ name, role, domain }) => {
    const size = sizes.get(name);
    return [name, domain ?? '(all)', PURPOSE[role], size === undefined ? '-' : bytes(size)];
  });
  process.stdout.write(table(['volume', 'domain', 'holds', 'size'], lines));
  return 0;
}

export interface ChownOptions extends GlobalOptions {
  domain?: string;
  yes?: boolean;
}

/**
 * Never follows a link: the owner of a link itself is changed, and nothing outside the volumes is reached (S2). History
 * from before domains had their own is left alone; by its owner too, since a sandbox can rename the folders above it.
 */
const CHOWN = `
set -eu
owner=$1; shift
for volume in "$@"; do
  find "$volume" -xdev \\( -path "$volume/${OLD_SESSIONS_PLACE.join('/')}" -o -uid ${LEGACY_SEAL.uid} \\) -prune \\
    -o -exec chown -h "$owner" -- {} +
done
`;

/** Gives the volumes to another user; refused while a sandbox uses them. */
export async function volumesChown(owner: string | undefined, options: ChownOptions): Promise<number> {
  const { config, engine, env, home } = await openContext(options);
  const user = owner === undefined ? await ownUser(engine, config, env, home) : ownerOf(owner);
  const volumes = (await ownVolumes(engine, config)).filter(
    ({ domain }) => options.domain === undefined || domain === undefined || domain === options.domain,
  );
  if (volumes.length === 0) throw new OperationError('there is no volume of this installation yet');
  if (options.domain !== undefined && !volumes.some(({ domain }) => domain === options.domain)) {
    throw new UsageError(`there is no volume of domain ${options.domain}`, {
      hint: 'pi-sandbox volumes list',
    });
  }
  const running = await listSandboxes(engine, config.INSTALLATION_PREFIX);
  if (running.length > 0) {
    throw new UsageError(`${running.length} sandbox(es) use the volumes`, { hint: 'pi-sandbox stop --all' });
  }
  const names = volumes.map(({ name }) => name);
  process.stderr.write(`${names.map((name) => `  ${name}`).join('\n')}\n`);
  if (!(await confirm(`Give these volumes to ${user}?`, '--yes', options.yes))) return 1;
  await runHelper(engine, {
    sandbox: { config },
    image: planImage(config.INSTALLATION_PREFIX, config).name,
    user: '0:0',
    capabilities: ['CHOWN', 'DAC_READ_SEARCH', 'FOWNER'],
    command: ['/bin/sh', '-c', CHOWN, 'chown', user, ...names.map((_, at) => `/volumes/${at}`)],
    mounts: names.map((name, at) => ({ type: 'volume', source: name, target: `/volumes/${at}` })),
  });
  engine.close();
  return 0;
}

async function ownVolumes(engine: Engine, config: Config): Promise<OwnVolume[]> {
  const prefix = config.INSTALLATION_PREFIX;
  const volumes = await engine.volumes.list({ namePrefix: prefix });
  return volumes
    .flatMap((volume) => {
      const found = volumeOfName(prefix, volume.name);
      return found === undefined ? [] : [{ ...volume, ...found }];
    })
    .sort((a, b) => a.name.localeCompare(b.name));
}

/** As whom a sandbox of the current directory would run (S2). */
async function ownUser(
  engine: Engine,
  config: Config,
  env: NodeJS.ProcessEnv,
  home: string,
): Promise<string> {
  const { owner } = await resolveProject(undefined, { cwd: process.cwd(), home });
  const [getuid, getgid] = [process.getuid?.bind(process), process.getgid?.bind(process)];
  const rootlessOwner = await engine.rootlessOwner();
  const { uid, gid } = sandboxUser({ env, getuid, getgid, projectOwner: owner, config, rootlessOwner });
  return `${uid}:${gid}`;
}

function ownerOf(given: string): string {
  const match = /^(\d{1,10})(?::(\d{1,10}))?$/.exec(given);
  if (match === null)
    throw new UsageError(
      `the owner is ${JSON.stringify(given)}; allowed: uid:gid in numbers, such as 1000:1000`,
    );
  return `${match[1]}:${match[2] ?? match[1]}`;
}
