import { homedir } from 'node:os';
import type { Engine } from '../engine/index.ts';
import { type Config, loadConfig } from './config/index.ts';
import type { GlobalOptions } from './global-options.ts';
import { warn } from './ui/report.ts';

/** What every verb begins with: the configuration, and an engine to talk to. */
export interface CommandContext {
  readonly config: Config;
  readonly engine: Engine;
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  /** Says how things were found and what is tried again; only with `--debug` or `--verbose`. */
  readonly debug: (line: string) => void;
}

/** Reads the configuration and finds the engine at the same time: neither needs the other (S6, S19). */
export async function openContext(options: GlobalOptions & { verbose?: boolean }): Promise<CommandContext> {
  const env = process.env;
  const home = env.HOME || homedir();
  const debug = debugLine(options);
  const [config, { openEngine }] = await Promise.all([
    loadConfig({ env, home, cwd: process.cwd() }),
    import('../engine/index.ts'),
  ]);
  for (const line of config.warnings) warn(line);
  const chosen = options.engine ?? config.ENGINE;
  const engine = await openEngine({ env, home, ...(chosen === undefined ? {} : { engine: chosen }) });
  debug(`engine: ${engine.address} (${engine.foundBy})`);
  return { config, engine, env, home, debug };
}

function debugLine(options: { debug?: boolean; verbose?: boolean }): (line: string) => void {
  if (options.debug !== true && options.verbose !== true) return () => undefined;
  return (line) => process.stderr.write(`pi-sandbox: ${line}\n`);
}
