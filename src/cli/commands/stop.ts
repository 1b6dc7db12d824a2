import type { Engine } from '../../engine/index.ts';
import { OperationError, UsageError } from '../../lib/errors.ts';
import { openContext } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import { type ListedSandbox, listSandboxes } from '../sandbox/find-sandboxes.ts';
import { removeUnusedNetworks } from '../sandbox/network.ts';
import { findSandbox } from '../sandbox/resolve-running.ts';
import { removeAbandonedHelpers } from '../sandbox/volumes.ts';

export interface StopOptions extends GlobalOptions {
  all?: boolean;
  domain?: string;
  /** Seconds. */
  time: number;
}

/**
 * Ends sandboxes: everything in them gets SIGTERM and time to save, then the container goes, and with a domain's last
 * sandbox its network (S15). It is there when this returns, or it is gone: "stopping" is never reported as stopped.
 */
export async function stop(word: string | undefined, options: StopOptions): Promise<number> {
  if (options.all === true && word !== undefined) {
    throw new UsageError(`stop ${word} or stop --all, not both`, { hint: 'nothing was stopped' });
  }
  const { config, engine } = await openContext(options);
  const prefix = config.INSTALLATION_PREFIX;
  const chosen =
    options.all === true
      ? (await listSandboxes(engine, prefix)).filter(
          ({ domain }) => options.domain === undefined || domain === options.domain,
        )
      : [await findSandbox(engine, prefix, word, options.domain)];
  const failures = await Promise.all(chosen.map((sandbox) => stopOne(engine, sandbox, options.time)));
  await Promise.all([removeUnusedNetworks(engine, prefix), removeAbandonedHelpers(engine, prefix)]);
  engine.close();
  const failed = failures.filter((failure) => failure !== undefined);
  if (failed.length > 0)
    throw new OperationError(failed.join('; '), { hint: 'pi-sandbox stop again, or look at the engine' });
  return 0;
}

async function stopOne(engine: Engine, sandbox: ListedSandbox, seconds: number): Promise<string | undefined> {
  const result = await engine.containers.stop(sandbox.id, seconds);
  // One that never ran, or has ended and was not removed by itself, is ours to remove.
  if (result === 'not-running') await engine.containers.remove(sandbox.id, { force: true });
  try {
    await engine.containers.waitRemoved(sandbox.id, 30_000);
  } catch {
    await engine.containers.remove(sandbox.id, { force: true });
  }
  if ((await engine.containers.inspect(sandbox.id)) !== undefined) return `${sandbox.name} is still there`;
  process.stdout.write(`${sandbox.name}\n`);
  return undefined;
}
