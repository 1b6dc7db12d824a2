import type { Engine } from '../../engine/index.ts';
import { OperationError, UsageError } from '../../lib/errors.ts';
import { SandboxStatus } from '../../wire/index.ts';
import { openContext } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import { askSupervisor } from '../sandbox/ask-supervisor.ts';
import { type ListedSandbox, listSandboxes } from '../sandbox/find-sandboxes.ts';
import { removeUnusedNetworks } from '../sandbox/network.ts';
import { findSandbox } from '../sandbox/resolve-running.ts';
import { removeAbandonedHelpers } from '../sandbox/volumes.ts';
import { info } from '../ui/report.ts';

/** How long an idle sandbox takes to end at most. */
const IDLE_END_MS = 20_000;

export interface StopOptions extends GlobalOptions {
  all?: boolean;
  domain?: string;
  /** Seconds. */
  time: number;
  /** Ask it to end once nothing lives in it, instead of ending it now. */
  whenIdle?: boolean;
}

/**
 * Ends sandboxes: everything in them gets SIGTERM and time to save, then the container goes, and with a domain's last
 * sandbox its network (S15). It is there when this returns, or it is gone: "stopping" is never reported as stopped.
 */
export async function stop(words: readonly string[], options: StopOptions): Promise<number> {
  if (options.all === true && words.length > 0) {
    throw new UsageError(`stop ${words.join(' ')} or stop --all, not both`, { hint: 'nothing was stopped' });
  }
  const { config, engine } = await openContext(options);
  const prefix = config.INSTALLATION_PREFIX;
  const chosen =
    options.all === true
      ? (await listSandboxes(engine, prefix)).filter(
          ({ domain }) => options.domain === undefined || domain === options.domain,
        )
      : await named(engine, prefix, words, options.domain);
  const end = options.whenIdle === true ? stopWhenIdle : stopOne;
  const failures = await Promise.all(chosen.map((sandbox) => end(engine, sandbox, options.time)));
  await Promise.all([removeUnusedNetworks(engine, prefix), removeAbandonedHelpers(engine, prefix)]);
  engine.close();
  const failed = failures.filter((failure) => failure !== undefined);
  if (failed.length > 0)
    throw new OperationError(failed.join('; '), { hint: 'pi-sandbox stop again, or look at the engine' });
  return 0;
}

/** All that are named, each once; one that is not there stops the call before anything is ended. */
async function named(
  engine: Engine,
  prefix: string,
  words: readonly string[],
  domain: string | undefined,
): Promise<ListedSandbox[]> {
  const asked = words.length === 0 ? [undefined] : words;
  const found = await Promise.all(asked.map((word) => findSandbox(engine, prefix, word, domain)));
  return [...new Map(found.map((sandbox) => [sandbox.id, sandbox])).values()];
}

/** Ends one sandbox now; the reason when it is still there afterwards. */
export async function stopOne(
  engine: Engine,
  sandbox: ListedSandbox,
  seconds: number,
  { quiet = false } = {},
): Promise<string | undefined> {
  const result = await engine.containers.stop(sandbox.id, seconds);
  // One that never ran, or has ended and was not removed by itself, is ours to remove.
  if (result === 'not-running') await engine.containers.remove(sandbox.id, { force: true });
  try {
    await engine.containers.waitRemoved(sandbox.id, 30_000);
  } catch {
    await engine.containers.remove(sandbox.id, { force: true });
  }
  if ((await engine.containers.inspect(sandbox.id)) !== undefined) return `${sandbox.name} is still there`;
  if (!quiet) process.stdout.write(`${sandbox.name}\n`);
  return undefined;
}

/** One with nothing in it is gone when this returns; any other ends with what lives in it, and that is said. */
async function stopWhenIdle(
  engine: Engine,
  sandbox: ListedSandbox,
  seconds: number,
): Promise<string | undefined> {
  if (sandbox.state !== 'running') return stopOne(engine, sandbox, seconds);
  const answer = await askSupervisor(engine, sandbox.id, { verb: 'stop-when-idle' }).catch(() => undefined);
  answer?.connection.destroy();
  const status = SandboxStatus.safeParse(answer?.value);
  if (!status.success) return `${sandbox.name} does not answer`;
  const { living } = status.data;
  // Not by the engine: who has come to live in it since is not to be ended.
  if (living.length === 0 && (await isGone(engine, sandbox.id))) {
    process.stdout.write(`${sandbox.name}\n`);
    return undefined;
  }
  const names = living.slice(0, 5).map(({ kind, name, id }) => `${kind} ${name ?? id}`);
  const more = living.length > names.length ? ` and ${living.length - names.length} more` : '';
  info(`${sandbox.name} ends with ${names.join(', ') || 'what has just come to live in it'}${more}`);
  return undefined;
}

async function isGone(engine: Engine, id: string): Promise<boolean> {
  return engine.containers.waitRemoved(id, IDLE_END_MS).then(
    () => true,
    () => false,
  );
}
