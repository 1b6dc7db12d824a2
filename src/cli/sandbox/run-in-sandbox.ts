import { setTimeout as sleep } from 'node:timers/promises';
import type { ContainerInfo, Engine } from '../../engine/index.ts';
import { messageOf, OperationError } from '../../lib/errors.ts';
import { warn } from '../ui/report.ts';
import { attach, describeEnding, type Ending, exitCodeOf } from './attach.ts';
import { changesSince, rememberHostExecuted } from './host-executed.ts';
import { openSandbox } from './open-sandbox.ts';
import { type PreparedStart, type ProgramChoice, prepareStart } from './prepare-start.ts';
import type { StartOptions } from './start-options.ts';

/**
 * Runs a program in the project's sandbox with the user's streams, and returns its exit code: the sentence that `start`
 * and `shell` are two cases of.
 */
export async function runInSandbox(
  argument: string | undefined,
  choice: ProgramChoice,
  options: StartOptions,
): Promise<number> {
  const prepared = await prepareStart(argument, choice, options);
  const before = rememberHostExecuted(prepared.sandbox.project.canonical);
  const { connection, joined } = await openSandbox(prepared.plan);
  if (prepared.offers.length > 0) await relayServices(prepared, options);
  prepared.plan.debug(joined ? 'joined the running sandbox' : 'started a new sandbox');
  const ending = await attach(connection, process, choice.terminal);
  for (const change of await changesSince(await before)) {
    warn(`this session changed what programs on the host may execute: ${change}`);
  }
  try {
    return await exitOf(ending, prepared);
  } finally {
    prepared.close();
  }
}

/** A relay that cannot be served is said, and no reason to end what runs already. */
async function relayServices({ plan, sandbox, offers }: PreparedStart, options: StartOptions): Promise<void> {
  const { ensureRelay } = await import('./relay-process.ts');
  try {
    const found = await plan.engine.containers.inspect(sandbox.name);
    if (found === undefined) return;
    const { directory } = sandbox.config;
    await Promise.all(offers.map((offer) => ensureRelay(directory, found.id, offer, options.engine)));
  } catch (error) {
    warn(`nothing is relayed to the sandbox: ${messageOf(error)}`);
  }
}

async function exitOf(ending: Ending, { plan, sandbox }: PreparedStart): Promise<number> {
  if (ending.how === 'exited') {
    const explanation = describeEnding(ending.exited);
    if (explanation !== undefined) warn(explanation);
    return exitCodeOf(ending.exited);
  }
  const found = await afterLoss(plan.engine, sandbox.name);
  if (found?.state === 'running') {
    throw new OperationError(`the connection to ${sandbox.name} was lost; the sandbox still runs`, {
      hint: `pi-sandbox start ${sandbox.project.display} joins it again`,
    });
  }
  const reason = found?.oomKilled === true ? 'it ran out of memory' : 'it was stopped or killed';
  throw new OperationError(`the sandbox ${sandbox.name} is gone: ${reason}`, {
    hint: `pi-sandbox logs ${sandbox.project.display} shows its last lines`,
  });
}

/** How long an engine may still call a container running that was killed a moment ago. */
const SETTLE_MS = 2_000;

/** What has become of the sandbox; the stream's end is often here before the engine knows of the container's (S20). */
async function afterLoss(engine: Engine, name: string): Promise<ContainerInfo | undefined> {
  const look = () => engine.containers.inspect(name).catch(() => undefined);
  let found = await look();
  for (
    const end = Date.now() + SETTLE_MS;
    found?.state === 'running' && Date.now() < end;
    found = await look()
  ) {
    await sleep(100);
  }
  return found;
}
