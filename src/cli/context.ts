import { homedir } from 'node:os';
import type { Engine } from '../engine/index.ts';
import { type Config, loadConfig } from './config/index.ts';
import type { GlobalOptions } from './global-options.ts';
import { warn } from './ui/report.ts';

type ContextOptions = GlobalOptions & { verbose?: boolean };

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
export async function openContext(options: ContextOptions): Promise<CommandContext> {
  const { openDefault, ...context } = await openConfiguration(options);
  return { ...context, engine: await openDefault() };
}

/** For what can do something without the engine that a command works on: it is opened when asked for. */
export async function openConfiguration(
  options: ContextOptions,
): Promise<Omit<CommandContext, 'engine'> & { openDefault: () => Promise<Engine> }> {
  const env = process.env;
  const home = env.HOME || homedir();
  const debug = debugLine(options);
  const [config, { openEngine }] = await Promise.all([
    loadConfig({ env, home, cwd: process.cwd() }),
    import('../engine/index.ts'),
  ]);
  for (const line of config.warnings) warn(line);
  const chosen = options.engine ?? config.ENGINE;
  const openDefault = async (): Promise<Engine> => {
    const engine = await openEngine({ env, home, ...(chosen === undefined ? {} : { engine: chosen }) });
    debug(`engine: ${engine.address} (${engine.foundBy})`);
    return engine;
  };
  return { config, env, home, debug, openDefault };
}

function debugLine(options: ContextOptions): (line: string) => void {
  if (options.debug !== true && options.verbose !== true) return () => undefined;
  return (line) => process.stderr.write(`pi-sandbox: ${line}\n`);
}
