import type { Engine } from '../../engine/index.ts';
import { EXIT, OperationError } from '../../lib/errors.ts';

const CODES = { SIGINT: EXIT.interrupt, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hangup } as const;
type Interruption = keyof typeof CODES;

/**
 * Ctrl-C and its like, while a container is being made, leave none behind that was never started. One that runs already
 * is let be: others may have joined it, and with nothing alive in it it ends by itself.
 *
 * @param creating the container's id; undefined when none was made
 * @returns takes the signals' own effect back
 */
export function removeWhenInterrupted(engine: Engine, creating: Promise<string | undefined>): () => void {
  const made = creating.catch(() => undefined);
  let interrupted = false;
  const handler = (signal: NodeJS.Signals): void => {
    const leave = (): never => process.exit(isInterruption(signal) ? CODES[signal] : EXIT.failed);
    // The engine may take its time; whoever asks twice does not want to wait for it.
    if (interrupted) leave();
    interrupted = true;
    void made
      .then((id) => (id === undefined ? undefined : engine.containers.remove(id)))
      .catch(() => undefined)
      .finally(leave);
  };
  const signals = Object.keys(CODES).filter(isInterruption);
  for (const signal of signals) process.on(signal, handler);
  return () => {
    for (const signal of signals) process.off(signal, handler);
  };
}

/** Ctrl-C and its like end what the command does, in order; the second one ends the command at once. */
export interface Interruptions {
  readonly signal: AbortSignal;
  /** What the command ends with if it was interrupted, else undefined. */
  exitCode(): number | undefined;
}

/** For the rest of this process. */
export function watchInterruptions(): Interruptions {
  const stop = new AbortController();
  let code: number | undefined;
  for (const signal of Object.keys(CODES).filter(isInterruption)) {
    process.once(signal, () => {
      code ??= CODES[signal];
      stop.abort(new OperationError('interrupted'));
    });
  }
  return { signal: stop.signal, exitCode: () => code };
}

function isInterruption(signal: string): signal is Interruption {
  return Object.hasOwn(CODES, signal);
}
