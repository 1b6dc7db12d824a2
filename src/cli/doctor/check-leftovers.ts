/** What starts and stops that were killed have left on the engine (S14, S16, S17). */
import type { ContainerSummary } from '../../engine/index.ts';
import { duration } from '../../lib/table.ts';
import { DomainId } from '../config/index.ts';
import { networkName } from '../sandbox/names.ts';
import { LABELS } from '../sandbox/sandbox.ts';
import { ok, type Row, warning } from './row.ts';
import { engineCommand, type Scene } from './scene.ts';

/** Between create and start lie milliseconds; a helper works for seconds, for minutes on a large volume. */
const NEVER_STARTED_MS = 60_000;
const HELPER_MS = 10 * 60_000;
/** A container that removes itself is for a moment exited, too. */
const ENDED_MS = 10_000;

export async function checkContainers(scene: Scene): Promise<Row[]> {
  const { config, engine, now } = scene;
  const all = await engine.containers.list({ [LABELS.prefix]: config.INSTALLATION_PREFIX });
  const left = all.flatMap((container) => {
    const why = leftover(container, now);
    return why === undefined ? [] : [{ name: container.name || container.id, why }];
  });
  const running = all.filter(({ state, labels }) => state === 'running' && labels[LABELS.role] === 'sandbox');
  if (left.length === 0) return [ok('containers', `${running.length} sandbox(es) running, none left over`)];
  return left.map(({ name, why }) =>
    warning('containers', `${name} ${why}`, `${engineCommand(scene)} rm -f ${name}`),
  );
}

/** Why a container is one that nothing needs any more; undefined when something may. */
export function leftover(
  { state, labels, createdAt }: Pick<ContainerSummary, 'state' | 'labels' | 'createdAt'>,
  now: number,
): string | undefined {
  const age = now - (createdAt ?? 0);
  const helper = labels[LABELS.role] === 'helper' ? 'is a helper that ' : '';
  const since = `${duration(age)} ago`;
  if (state === 'created' && age > NEVER_STARTED_MS) return `${helper}was created ${since} and never started`;
  if ((state === 'exited' || state === 'dead') && age > ENDED_MS)
    return `${helper}is ${state}, made ${since}`;
  return helper !== '' && age > HELPER_MS ? `${helper}was made ${since} and still runs` : undefined;
}

/** A network goes with its domain's last sandbox; one without any is what a killed stop has left. */
export async function checkNetworks(scene: Scene): Promise<Row[]> {
  const { config, engine } = scene;
  const prefix = config.INSTALLATION_PREFIX;
  const [networks, sandboxes] = await Promise.all([
    engine.networks.list({ [LABELS.prefix]: prefix, [LABELS.role]: 'network' }),
    engine.containers.list({ [LABELS.prefix]: prefix, [LABELS.role]: 'sandbox' }),
  ]);
  const used = new Set(
    sandboxes.flatMap(({ name, labels }) => {
      const domain = DomainId.safeParse(labels[LABELS.domain]).data;
      return domain === undefined ? [name] : [name, networkName(prefix, domain)];
    }),
  );
  const unused = networks.filter(({ name }) => !used.has(name));
  if (unused.length === 0) return [ok('networks', `${networks.length}, each with a sandbox`)];
  return unused.map(({ name }) =>
    warning('networks', `${name} has no sandbox any more`, `${engineCommand(scene)} network rm ${name}`),
  );
}
