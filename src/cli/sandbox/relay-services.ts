import { messageOf } from '../../lib/errors.ts';
import { warn } from '../ui/report.ts';
import type { PreparedStart } from './prepare-start.ts';

/**
 * Relays to the sandbox that is there now what a start offers, and what was relayed to it before (S10). A relay that
 * cannot be served is said, and no reason to end what runs already.
 *
 * @param chosen `--engine`, as it was given
 * @param started of this command; a call after the sandbox was opened starts no second process for what runs by then
 */
export async function relayServices(
  { plan, sandbox, offers, relayed }: Pick<PreparedStart, 'plan' | 'sandbox' | 'offers' | 'relayed'>,
  chosen: string | undefined,
  started: Set<string>,
): Promise<void> {
  if (offers.length === 0 && relayed.length === 0) return;
  const { continueRelay, ensureRelay } = await import('./relay-process.ts');
  try {
    const found = await plan.engine.containers.inspect(sandbox.name);
    if (found === undefined) return;
    const { directory } = sandbox.config;
    const here = { directory, container: found.id, name: sandbox.name, engine: plan.engine, chosen, started };
    const others = relayed.filter(({ service }) => offers.every((offer) => offer.service !== service));
    await Promise.all([
      ...offers.map((offer) => ensureRelay(here, offer)),
      ...others.map((before) => continueRelay(here, before)),
    ]);
  } catch (error) {
    warn(`nothing is relayed to the sandbox: ${messageOf(error)}`);
  }
}
