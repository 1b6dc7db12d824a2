/**
 * Starts of pi take turns in one sandbox, because pi silently goes on with defaults when its settings are locked
 * (S8). The launcher hands us the lock's descriptor; when a Session starts the settings are read, and closing it lets
 * the next start begin.
 */
import { closeSync, readlinkSync } from 'node:fs';

/** Only a descriptor that really is the start-turn lock is closed: the variable may be inherited by any child pi. */
export function releaseStartTurn(env: NodeJS.ProcessEnv): boolean {
  const value = env.PI_SANDBOX_TURN_FD;
  if (value === undefined) return false;
  // Never handed on: in a child the same number means something else.
  delete env.PI_SANDBOX_TURN_FD;
  const descriptor = Number(value);
  if (!Number.isInteger(descriptor) || descriptor < 3) return false;
  try {
    if (!readlinkSync(`/proc/self/fd/${descriptor}`).endsWith('/start-turn.lock')) return false;
    closeSync(descriptor);
    return true;
  } catch {
    return false;
  }
}
