/** How the lock extension speaks: through pi's interface where there is one, else on standard error; each text once. */
import { writeSync } from 'node:fs';
import { messageOf } from '../../../lib/errors.ts';
import type { ExtensionContext } from '../../../pi/index.ts';

export interface Voice {
  warn(text: string): void;
  /** From now on there is a Session to speak in; what was said before is said again where the user sees it. */
  attach(context: ExtensionContext): void;
  /** Runs a part that pi must survive; a failure is said, naming it. */
  guarded(part: string, run: () => Promise<void>): Promise<void>;
}

export function makeVoice(): Voice {
  const said = new Set<string>();
  let waiting: string[] = [];
  let context: ExtensionContext | undefined;
  const warn = (text: string): void => {
    if (said.has(text)) return;
    said.add(text);
    if (!context) waiting.push(text);
    else if (context.mode === 'tui' || context.mode === 'rpc') context.ui.notify(text, 'warning');
    else writeSync(2, `pi-sandbox: ${text}\n`);
  };
  return {
    warn,
    attach(next) {
      context = next;
      const texts = waiting;
      waiting = [];
      for (const text of texts) {
        said.delete(text);
        warn(text);
      }
    },
    async guarded(part, run) {
      try {
        await run();
      } catch (error) {
        warn(`${part} failed: ${messageOf(error)}. pi goes on without it.`);
      }
    },
  };
}
