import type { ContainerSummary, Engine } from '../../engine/index.ts';
import type { Clock } from '../../lib/clock.ts';
import { UsageError } from '../../lib/errors.ts';
import { LABELS, type Sandbox } from './sandbox.ts';

/** A sandbox that the engine knows, running or not, as its labels tell. */
export interface ListedSandbox {
  id: string;
  name: string;
  alias: string | undefined;
  domain: string;
  project: string;
  version: string;
  image: string;
  state: ContainerSummary['state'];
  createdAt: number | undefined;
}

/** All sandboxes of an installation on an engine: from its labels alone, no index of ours (S15). */
export async function listSandboxes(engine: Engine, prefix: string): Promise<ListedSandbox[]> {
  const containers = await engine.containers.list({ [LABELS.prefix]: prefix, [LABELS.role]: 'sandbox' });
  return containers
    .map((container) => ({
      id: container.id,
      name: container.name,
      alias: container.labels[LABELS.alias],
      domain: container.labels[LABELS.domain] ?? '',
      project: container.labels[LABELS.project] ?? '',
      version: container.labels[LABELS.version] ?? '',
      image: container.image,
      state: container.state,
      createdAt: container.createdAt,
    }))
    .sort((a, b) => a.project.localeCompare(b.project) || a.domain.localeCompare(b.domain));
}

/**
 * The sandboxes that a word means: by the name given with `--name`, by container name, or by project directory. The
 * project need not exist any more.
 */
export function matching(
  sandboxes: readonly ListedSandbox[],
  word: string,
  project: string,
  domain: string | undefined,
): ListedSandbox[] {
  const named = sandboxes.filter(({ alias, name }) => alias === word || name === word);
  const found = named.length > 0 ? named : sandboxes.filter((sandbox) => sandbox.project === project);
  return found.filter((sandbox) => domain === undefined || sandbox.domain === domain);
}

/**
 * A name means one sandbox, as an engine's own names do.
 *
 * @throws UsageError naming both projects when another sandbox has it
 */
export async function requireFreeName(engine: Engine, sandbox: Sandbox, alias: string): Promise<void> {
  const [other] = await othersNamed(engine, sandbox, alias);
  if (other !== undefined) throw nameTaken(sandbox, alias, other);
}

const CLAIM_MS = 2_500;
const CLAIM_PAUSE_MS = 50;

/**
 * Settles which of several containers that were created with one name at the same moment keeps it. Each start looks
 * once its own is listed, so of two at least one sees the other; who sees nobody has it. Of those that are merely
 * created the one with the smallest id waits, and the others step back (S18).
 *
 * @returns false for a start that has to remove its container and may try again
 * @throws UsageError when another sandbox has the name
 */
export async function claimName(
  plan: { engine: Engine; sandbox: Sandbox; clock: Clock },
  id: string,
  alias: string,
): Promise<boolean> {
  const { engine, sandbox, clock } = plan;
  for (const end = clock.monotonic() + CLAIM_MS; ; await clock.sleep(CLAIM_PAUSE_MS)) {
    const others = await othersNamed(engine, sandbox, alias);
    const [first] = others;
    if (first === undefined) return true;
    const holder = others.find(({ state }) => state !== 'created' && state !== 'removing');
    if (holder !== undefined || clock.monotonic() > end) throw nameTaken(sandbox, alias, holder ?? first);
    if (others.some((other) => other.id < id)) return false;
  }
}

async function othersNamed(engine: Engine, sandbox: Sandbox, alias: string): Promise<ListedSandbox[]> {
  const listed = await listSandboxes(engine, sandbox.config.INSTALLATION_PREFIX);
  return listed.filter(
    ({ alias: taken, name }) => name !== sandbox.name && (taken === alias || name === alias),
  );
}

function nameTaken({ project, domain }: Sandbox, alias: string, other: ListedSandbox): UsageError {
  return new UsageError(
    `the name ${alias} is taken by the sandbox of ${other.project} in domain ${other.domain}; ${project.display} in domain ${domain} needs another`,
    { hint: `choose another --name, or first: pi-sandbox stop ${alias}` },
  );
}

/** Exactly one of them; several are listed with how to choose. */
export function onlyOne(found: readonly ListedSandbox[], word: string): ListedSandbox {
  const [first, ...others] = found;
  if (first === undefined) {
    throw new UsageError(`no sandbox of ${word} is there`, { hint: 'pi-sandbox ps lists what is' });
  }
  if (others.length > 0) {
    const domains = found.map(({ domain }) => domain).join(', ');
    throw new UsageError(`${word} has sandboxes in several domains: ${domains}`, {
      hint: 'choose with --domain',
    });
  }
  return first;
}
