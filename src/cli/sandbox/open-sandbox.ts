import type { CreateResult, Engine } from '../../engine/index.ts';
import type { Clock } from '../../lib/clock.ts';
import { OperationError, TimeoutError, UsageError } from '../../lib/errors.ts';
import type { FrameConnection } from '../../wire/index.ts';
import { type ContainerOptions, containerSpec } from './container-spec.ts';
import { claimName } from './find-sandboxes.ts';
import {
  ANSWER_MS,
  collectErrors,
  noAnswer,
  type Opening,
  open,
  readToken,
  SandboxRefusedError,
  withOldHistoryTried,
} from './greeting.ts';
import { removeWhenInterrupted } from './interruption.ts';
import { ensureNetwork } from './network.ts';
import type { Sandbox } from './sandbox.ts';
import { createVolumes, type PreparedVolumes, volumesExist } from './volumes.ts';

/** How long a start waits for a container that is coming up or going away; what an image's build takes is not counted. */
const DEADLINE_MS = 90_000;
/**
 * A container that stays created and not started while we look on for so long belongs to a start that died, or to one
 * that looks again when it finds it gone.
 */
const ABANDONED_MS = 3_000;
/** Reaches the supervisor from an exec. */
export const BRIDGE = '/opt/pi-sandbox/bin/bridge';

export interface StartPlan {
  engine: Engine;
  sandbox: Sandbox;
  /** Ready when the project and its configuration have been read. */
  options: Promise<ContainerOptions>;
  /** Options given by the user that only a new container can take. */
  onlyForNew: readonly string[];
  network: 'open' | 'none';
  /** The image to run, its name known without asking the engine; worked out when first called, from a megabyte of files. */
  image: () => string;
  /** Builds the image; called when the engine does not have it. */
  buildImage: () => Promise<void>;
  /** The request with its configuration, ready some milliseconds after the engine was first asked. */
  opening: Promise<Opening>;
  clock: Clock;
  debug: (line: string) => void;
}

export interface OpenedSandbox {
  connection: FrameConnection;
  joined: boolean;
}

type Attempt = OpenedSandbox | { again: string };

/** What this start knows of the containers that it has met. */
interface Met {
  /** When it first met one that was not its own, by its id. Milliseconds of the monotonic clock. */
  firstSeen: Map<string, number>;
  /** The id of the one that it has started itself, and which waits for its volumes. */
  own?: string;
}

const IMAGE_BUILT = 'image built';
const UNPREPARED = 'volumes not prepared';

/**
 * Starts the project's container or joins it, and hands it the request. Creating the name is the lock. Until the
 * sandbox's own `accepted`, whatever another start or stop can have brought about (the name taken, the network, the
 * container or its supervisor gone or going) is tried again until the deadline; any other error ends the start (S14).
 */
export async function openSandbox(plan: StartPlan): Promise<OpenedSandbox> {
  const { engine, sandbox, clock } = plan;
  const joined = await join(plan).catch((error: unknown) => {
    // It waits for the start that made it to prepare its volumes, or for anybody, if that one was killed.
    if (isUnprepared(error)) return { again: UNPREPARED };
    throw error;
  });
  if ('connection' in joined) return joined;
  // Only now: beside the first request, these would hold up a warm start, which has no use for them.
  const asked = Promise.all([volumesExist(engine, sandbox), networkOf(plan)]);
  asked.catch(() => undefined);
  plan.image();
  let [volumes, network]: [boolean, string | undefined] = await asked;
  if (joined.again === UNPREPARED) volumes = false;
  let prepared = false;
  let built = false;
  const met: Met = { firstSeen: new Map() };
  // The user may still be asked for consent to the project's configuration.
  await plan.options;
  let deadline = clock.monotonic() + DEADLINE_MS;
  for (let pause = 20; clock.monotonic() < deadline; pause = Math.min(pause * 1.5, 500)) {
    if (!volumes) {
      const { oldHistoryClosed } = await createVolumesOrBuild(plan);
      plan.opening = plan.opening.then((opening) => withOldHistoryTried(opening, oldHistoryClosed));
      deadline = clock.monotonic() + DEADLINE_MS;
      volumes = true;
      prepared = true;
    }
    network ??= await networkOf(plan);
    const attempt = await create(plan, network ?? '', met).catch(async (error: unknown) => {
      if (isUnprepared(error) && !prepared) {
        // Another start is about to prepare them, or was killed before: do it now. The sandbox waits for it.
        volumes = false;
        return { again: UNPREPARED };
      }
      if (met.own !== undefined) await remove(engine, met.own);
      throw error;
    });
    if ('connection' in attempt) return attempt;
    plan.debug(attempt.again);
    if (attempt.again === IMAGE_BUILT) {
      // Once: an image that is gone again after each build must not be built for ever.
      if (!built) deadline = clock.monotonic() + DEADLINE_MS;
      built = true;
    } else if (attempt.again === 'no-such-network') network = undefined;
    else await clock.sleep(pause + Math.random() * pause);
  }
  throw new TimeoutError(`the sandbox ${sandbox.name} did not come up within ${DEADLINE_MS / 1000} s`, {
    hint: `pi-sandbox stop ${sandbox.project.display} clears away what is there; --debug shows what was tried`,
  });
}

/** Asks a running container's supervisor; `again` when there is none, or it is about to end. */
export async function join(
  plan: Pick<StartPlan, 'engine' | 'sandbox' | 'opening' | 'onlyForNew'>,
): Promise<Attempt> {
  const { engine, sandbox, onlyForNew } = plan;
  const session = await engine.containers.exec(sandbox.name, { command: [BRIDGE] });
  if (session.outcome !== 'running') return { again: `join: ${session.message}` };
  const errors = collectErrors(session);
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    session.disconnect();
  }, ANSWER_MS);
  const token = await readToken(session);
  clearTimeout(timer);
  if (token === undefined) {
    session.disconnect();
    if (late) throw noAnswer(ANSWER_MS);
    return { again: `join: ${errors()}` };
  }
  if (onlyForNew.length > 0) {
    session.disconnect();
    throw new UsageError(
      `the sandbox of ${sandbox.project.display} is running, and ${onlyForNew.join(', ')} can be given to a new one only`,
      {
        hint: `pi-sandbox stop ${sandbox.project.display}`,
      },
    );
  }
  const greeting = await open(session, token, await plan.opening);
  if (greeting.answer !== 'accepted') return { again: `join: ${greeting.answer}` };
  return { connection: greeting.connection, joined: true };
}

function isUnprepared(error: unknown): boolean {
  return error instanceof SandboxRefusedError && error.foreignVolume;
}

async function remove(engine: Engine, id: string): Promise<void> {
  await engine.containers.remove(id, { force: true }).catch(() => undefined);
}

async function create(plan: StartPlan, network: string, met: Met): Promise<Attempt> {
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
    const streams = await engine.containers.attach(id).catch((error: unknown) => ifGone(engine, id, error));
    if (streams === undefined) return { again: 'gone' };
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

/** Another start took the container for abandoned, or a stop came between; any other failure goes on. */
async function ifGone(engine: Engine, id: string, error: unknown): Promise<undefined> {
  if ((await engine.containers.inspect(id)) !== undefined) throw error;
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

async function createVolumesOrBuild(plan: StartPlan): Promise<PreparedVolumes> {
  if ((await plan.engine.images.inspect(plan.image())) === undefined) await plan.buildImage();
  return createVolumes(plan.engine, plan.sandbox, plan.image());
}

async function networkOf(plan: StartPlan): Promise<string> {
  return plan.network === 'none' ? '' : ensureNetwork(plan.engine, plan.sandbox);
}
