import { openContext } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import { serveRelay } from '../sandbox/relay-process.ts';

/** Serves a sandbox's SSH agent or git credentials until it ends; started by `start`, never by a user (S10). */
export async function relay(file: string | undefined, options: GlobalOptions): Promise<number> {
  const { engine } = await openContext(options);
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.abort());
  try {
    if (file !== undefined) await serveRelay(file, engine, stop.signal);
  } finally {
    engine.close();
  }
  return 0;
}
