import { type CreateResult, type Engine, NoSuchNetworkError } from '../../engine/index.ts';
import { OperationError } from '../../lib/errors.ts';
import { containerSpec } from './container-spec.ts';
import { claimName } from './find-sandboxes.ts';
import { collectErrors, open, SandboxRefusedError } from './greeting.ts';
import { removeWhenInterrupted } from './interruption.ts';
import { join } from './join-sandbox.ts';
import type { Attempt, StartPlan } from './start-plan.ts';

/**
 * A container that stays created and not started while we look on for so long belongs to a start that died, or to one
 * that looks again when it finds it gone.
 */
const ABANDONED_MS = 3_000;
export const IMAGE_BUILT = 'image built';

/** What this start knows of the containers that it has met. */
export interface Met {
  /** When it first met one that was not its own, by its id. Milliseconds of the monotonic clock. */
  firstSeen: Map<string, number>;
  /** The id of the one that it has started itself, and which waits for its volumes. */
  own?: string;
}

/** One try to make the project's container and start it; where another has the name, to join that one. */
export async function create(plan: StartPlan, network: string, met: Met): Promise<Attempt> {
  const { engine, sandbox } = plan;
  const options = await plan.options;
  const spec = containerSpec(
    sandbox,
    plan.image(),
    network === '' ? { mode: 'none' } : { mode: 'named', name: network },
    options,
  );
  const creating = engine.containers.create(spec);
  const release = removeWhenInterrupted(
    engine,
    creating.then((result) => (result.outcome === 'created' ? result.id : undefined)),
  );
  try {
    const created = await creating;
    if (created.outcome === 'created') return await startCreated(plan, created.id, met);
    return await instead(plan, created.outcome, met);
  } finally {
    release();
  }
}

/** What a start does when there is no container of its own to start. */
async function instead(
  plan: StartPlan,
  outcome: Exclude<CreateResult['outcome'], 'created'>,
  met: Met,
): Promise<Attempt> {
  switch (outcome) {
    case 'no-such-image':
      await plan.buildImage();
      return { again: IMAGE_BUILT };
    case 'no-such-network':
      return { again: 'no-such-network' };
    case 'conflict':
      return joinOrClear(plan, met);
  }
}

/** The container is ours: attach before it starts, so that nothing is missed, and speak to it directly. */
async function startCreated(plan: StartPlan, id: string, met: Met): Promise<Attempt> {
  const { engine } = plan;
  try {
    const { alias } = await plan.options;
    if (alias !== undefined && !(await claimName(plan, id, alias))) {
      await engine.containers.remove(id, { force: true });
      return { again: `another start wants the name ${alias} too` };
    }
    const streams = await engine.containers
      .attach(id)
      .catch((error: unknown) => insteadOfAttaching(engine, id, error));
    if ('again' in streams) return streams;
    const errors = collectErrors(streams);
    const started = await engine.containers.start(id);
    if (started.outcome !== 'started' && started.outcome !== 'already-started') {
      streams.disconnect();
      await engine.containers.remove(id, { force: true });
      return { again: started.outcome };
    }
    const greeting = await open(streams, undefined, await plan.opening);
    if (greeting.answer === 'accepted') return { connection: greeting.connection, joined: false };
    if (greeting.answer === 'lost' && errors() !== '') throw new OperationError(errors());
    return { again: greeting.answer };
  } catch (error) {
    // Only its volumes are not ready, and others may have found it already: there must not be a second one for that.
    if (isUnprepared(error)) met.own = id;
    else await remove(engine, id);
    throw error;
  }
}

/** Another start took the container for abandoned, or a stop took it or its network; any other failure goes on. */
async function insteadOfAttaching(engine: Engine, id: string, error: unknown): Promise<{ again: string }> {
  if (error instanceof NoSuchNetworkError) {
    await engine.containers.remove(id, { force: true });
    return { again: 'no-such-network' };
  }
  if ((await engine.containers.inspect(id)) !== undefined) throw error;
  return { again: 'gone' };
}

/** Somebody else's container has the name: join it, or clear away what is left of one. */
async function joinOrClear(plan: StartPlan, { firstSeen, own }: Met): Promise<Attempt> {
  const { engine, sandbox, clock } = plan;
  const found = await engine.containers.inspect(sandbox.name);
  if (found === undefined) return { again: 'gone' };
  if (found.state === 'running') return join(found.id === own ? { ...plan, onlyForNew: [] } : plan);
  if (found.state === 'paused') {
    throw new OperationError(`the sandbox ${sandbox.name} is paused`, {
      hint: `unpause it (docker unpause ${sandbox.name}), or end it: pi-sandbox stop ${sandbox.project.display}`,
    });
  }
  const now = clock.monotonic();
  const seen = firstSeen.get(found.id) ?? now;
  firstSeen.set(found.id, seen);
  // Not by its date, which the engine's clock gave it; and never by force, for it may be started this moment.
  const abandoned = found.state === 'created' && now - seen > ABANDONED_MS;
  if (abandoned || found.state === 'exited' || found.state === 'dead')
    await engine.containers.remove(found.id);
  return { again: found.state };
}

export function isUnprepared(error: unknown): boolean {
  return error instanceof SandboxRefusedError && error.foreignVolume;
}

export async function remove(engine: Engine, id: string): Promise<void> {
  await engine.containers.remove(id, { force: true }).catch(() => undefined);
}
