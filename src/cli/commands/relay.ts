import { systemClock } from '../../lib/clock.ts';
import { EXIT, messageOf } from '../../lib/errors.ts';
import { openContext } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import { watchInterruptions } from '../sandbox/interruption.ts';
import { serveRelay } from '../sandbox/relay-process.ts';
import { noteRelayEnd } from '../sandbox/relay-state.ts';

/** Serves a sandbox's SSH agent or git credentials until it ends; started by `start`, never by a user (S10). */
export async function relay(file: string | undefined, options: GlobalOptions): Promise<number> {
  if (file === undefined) return EXIT.usage;
  const { signal } = watchInterruptions();
  try {
    const { engine } = await openContext(options);
    try {
      await serveRelay(file, engine, signal);
    } finally {
      engine.close();
    }
    return 0;
  } catch (error) {
    await noteRelayEnd(file, messageOf(error), systemClock);
    return EXIT.failed;
  }
}
