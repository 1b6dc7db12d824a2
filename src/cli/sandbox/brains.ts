import { stat } from 'node:fs/promises';
import type { MountSpec } from '../../engine/index.ts';
import { ConfigError, UsageError } from '../../lib/errors.ts';
import {
  brainDirectory,
  type Config,
  canonicalPath,
  type Domain,
  DomainId,
  isWithin,
} from '../config/index.ts';

/**
 * The mounts of the domain's own brain, which it may write, and of the brains of other domains that the user asks for
 * with `--with-domain`, which it may only read (S9). Histories stay where they are.
 *
 * @throws ConfigError for a brain that is no directory, or one that would hand out more than notes; UsageError for a
 *   domain without a brain
 */
export async function brainMounts(
  config: Config,
  domain: DomainId,
  others: readonly string[],
  sockets: readonly string[],
): Promise<MountSpec[]> {
  const own = config.domains.find(({ id }) => id === domain);
  const asked = others.map((name) => otherDomain(config, domain, name));
  const mounts: MountSpec[] = [];
  for (const each of new Set([...(own?.brain === undefined ? [] : [own]), ...asked])) {
    const source = await checkedBrain(config, each, sockets);
    mounts.push({ type: 'bind', source, target: brainDirectory(each.id), readOnly: each.id !== domain });
  }
  return mounts;
}

function otherDomain(config: Config, domain: DomainId, name: string): Domain {
  const other = config.domains.find(({ id }) => id === DomainId.safeParse(name).data);
  const known = config.domains
    .filter(({ id, brain }) => brain !== undefined && id !== domain)
    .map(({ id }) => id);
  const hint = known.length === 0 ? 'no other domain has one' : `with a brain: ${known.join(', ')}`;
  if (other === undefined) throw new UsageError(`--with-domain ${name}: there is no such domain`, { hint });
  if (other.id === domain)
    throw new UsageError(`--with-domain ${name}: that is the domain of this project`, { hint });
  if (other.brain === undefined) {
    throw new UsageError(`--with-domain ${name}: BRAIN_${other.key}_PATH is not set`, { hint });
  }
  return other;
}

async function checkedBrain(
  config: Config,
  { key, brain }: Domain,
  sockets: readonly string[],
): Promise<string> {
  const name = `BRAIN_${key}_PATH`;
  const where = config.origins.get(name) ?? name;
  const facts = brain === undefined ? undefined : await stat(brain).catch(() => undefined);
  if (brain === undefined || facts?.isDirectory() !== true) {
    throw new ConfigError(where, `${name} is ${brain}, which is no directory`, { hint: `mkdir -p ${brain}` });
  }
  // What can write these can run programs on the host.
  const guarded = await Promise.all([config.home, config.directory, ...sockets].map(canonicalPath));
  const kept = guarded.find((path) => isWithin(path, brain));
  if (kept !== undefined) {
    throw new ConfigError(where, `${name} is ${brain}, which holds ${kept}`, {
      hint: 'choose a directory of its own for the notes',
    });
  }
  return brain;
}
