import { openContext } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import { watchInterruptions } from '../sandbox/interruption.ts';
import { serveRelay } from '../sandbox/relay-process.ts';

/** Serves a sandbox's SSH agent or git credentials until it ends; started by `start`, never by a user (S10). */
export async function relay(file: string | undefined, options: GlobalOptions): Promise<number> {
  const { engine } = await openContext(options);
  const { signal } = watchInterruptions();
  try {
    if (file !== undefined) await serveRelay(file, engine, signal);
  } finally {
    engine.close();
  }
  return 0;
}
