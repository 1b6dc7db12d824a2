import { OperationError } from '../../lib/errors.ts';
import { openContext } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import { openSandbox } from '../sandbox/open-sandbox.ts';
import { prepareStart } from '../sandbox/prepare-start.ts';
import { relayServices } from '../sandbox/relay-services.ts';
import { findSandbox } from '../sandbox/resolve-running.ts';
import { LABELS } from '../sandbox/sandbox.ts';
import { KeptOptions } from '../sandbox/start-options.ts';
import { stopOne } from './stop.ts';

export interface RestartOptions extends GlobalOptions {
  domain?: string;
  /** Seconds. */
  time: number;
}

/** The command that makes the new sandbox: it is up when this has ended, and idle from then on. */
const NOTHING = { program: 'command', arguments: ['true'], terminal: false } as const;

/**
 * Ends a sandbox and makes it anew, with today's image and configuration and the options that its container was made
 * with, and relays to it what was relayed before (S10, S15). All that can be checked is checked before anything is ended.
 */
export async function restart(word: string | undefined, options: RestartOptions): Promise<number> {
  const { config, engine } = await openContext(options);
  const sandbox = await findSandbox(engine, config.INSTALLATION_PREFIX, word, options.domain);
  const labels = (await engine.containers.inspect(sandbox.id))?.labels ?? {};
  const prepared = await prepareStart(sandbox.project, NOTHING, {
    ...keptOptions(labels[LABELS.options]),
    ...(options.engine === undefined ? {} : { engine: options.engine }),
    domain: sandbox.domain,
    build: true,
  });
  try {
    await Promise.all([prepared.plan.opening, prepared.plan.options]);
    const failure = await stopOne(engine, sandbox, options.time, { quiet: true });
    if (failure !== undefined) throw new OperationError(failure, { hint: 'pi-sandbox stop it, then start' });
    const { connection } = await openSandbox(prepared.plan);
    await relayServices(prepared, options.engine, new Set());
    connection.onFrame((frame) => {
      if (frame.type === 'exited') connection.destroy();
    });
    await connection.closed;
    process.stdout.write(`${prepared.sandbox.name}\n`);
    return 0;
  } finally {
    prepared.close();
    engine.close();
  }
}

/** A container of an older version, or one whose labels somebody else made, has none that count. */
function keptOptions(label: string | undefined): KeptOptions {
  try {
    return KeptOptions.parse(JSON.parse(label ?? '{}'));
  } catch {
    return {};
  }
}
