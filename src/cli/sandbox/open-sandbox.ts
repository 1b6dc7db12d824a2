import { TimeoutError } from '../../lib/errors.ts';
import { create, IMAGE_BUILT, isUnprepared, type Met, remove } from './create-sandbox.ts';
import { withOldHistoryTried } from './greeting.ts';
import { JOIN, join } from './join-sandbox.ts';
import { ensureNetwork } from './network.ts';
import type { Sandbox } from './sandbox.ts';
import type { OpenedSandbox, StartPlan } from './start-plan.ts';
import { createVolumes, type PreparedVolumes, volumesExist } from './volumes.ts';

/** How long a start waits for a container that is coming up or going away; what an image's build takes is not counted. */
const DEADLINE_MS = 90_000;
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
  let last = '';
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
    last = attempt.again;
    if (attempt.again === IMAGE_BUILT) {
      // Once: an image that is gone again after each build must not be built for ever.
      if (!built) deadline = clock.monotonic() + DEADLINE_MS;
      built = true;
    } else if (attempt.again === 'no-such-network') network = undefined;
    else await clock.sleep(pause + Math.random() * pause);
  }
  throw notOpened(sandbox, last);
}

function notOpened({ name, project }: Sandbox, last: string): TimeoutError {
  const seconds = DEADLINE_MS / 1000;
  if (last.startsWith(JOIN)) {
    return new TimeoutError(`the sandbox ${name} runs, and does not answer within ${seconds} s (${last})`, {
      hint: `it may have no room for another process (PIDS=): pi-sandbox stop ${project.display} ends it`,
    });
  }
  return new TimeoutError(`the sandbox ${name} did not come up within ${seconds} s`, {
    hint: `pi-sandbox stop ${project.display} clears away what is there; --debug shows what was tried`,
  });
}

async function createVolumesOrBuild(plan: StartPlan): Promise<PreparedVolumes> {
  if ((await plan.engine.images.inspect(plan.image())) === undefined) await plan.buildImage();
  return createVolumes(plan.engine, plan.sandbox, plan.image());
}

async function networkOf(plan: StartPlan): Promise<string> {
  return plan.network === 'none' ? '' : ensureNetwork(plan.engine, plan.sandbox);
}
