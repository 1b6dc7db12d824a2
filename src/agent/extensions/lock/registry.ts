/**
 * What survives within one pi process while its extensions are loaded anew: the Sessions that this pi has open. pi
 * runs an extension's factory again for every Session, after `/reload` even as a new module, so it hangs on the
 * process and not on the module.
 */
import type { SessionLock, SessionTarget } from '../../../pi/index.ts';

export interface OpenSession {
  target: SessionTarget;
  /** Undefined while another pi has the Session. */
  lock: SessionLock | undefined;
  /** `stale`: the lock came after waiting, and the file has not been read again yet. Nothing is appended then. */
  state: 'open' | 'waiting' | 'stale';
}

export interface Registry {
  sessions: Set<OpenSession>;
  /** True from a factory's run until `session_start`: what pi appends then belongs to a Session still to be locked. */
  starting: boolean;
  /** Called for every write of every Session file in this process; replaced by the newest module. */
  gate: WriteGate | undefined;
  /** The process listens for the stop signal already. */
  suspendDisabled: boolean;
}

/** `writeAll` writes the whole file instead; undefined for a write that does so anyway. */
export type WriteGate = (
  target: SessionTarget,
  write: () => void,
  writeAll: (() => void) | undefined,
) => void;

declare global {
  // The number changes with the registry's shape: two versions of this extension then do not share one.
  var piSandboxSessionLock1: Registry | undefined;
}

export function processRegistry(): Registry {
  globalThis.piSandboxSessionLock1 ??= {
    sessions: new Set(),
    starting: true,
    gate: undefined,
    suspendDisabled: false,
  };
  return globalThis.piSandboxSessionLock1;
}

/** The entry of this very Session, if this pi has it open. */
export function findSession(registry: Registry, target: SessionTarget): OpenSession | undefined {
  for (const session of registry.sessions) {
    if (session.target.id === target.id && session.target.file === target.file) return session;
  }
  return undefined;
}
