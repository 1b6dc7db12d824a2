/**
 * pi's own classes, without importing pi by name: Node would find a second copy of it then, and pi would have to
 * transform the extension first, which costs a fresh container half a second. The running pi's own entry file tells
 * where its modules are, and they are loaded already.
 */
import { realpathSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/** The prototypes of the running pi's classes; empty for a pi that is laid out in another way. */
export interface PiClasses {
  SessionManager?: object | undefined;
}

/** `entry` is the file that Node was started with. */
export async function piClasses(entry: string | undefined): Promise<PiClasses> {
  try {
    const real = entry === undefined ? '' : realpathSync(entry);
    // Anything else is not pi's command, and the file beside it is none of ours to run.
    if (!/\/pi-coding-agent\/dist\/bundle\/(cli|rpc-entry)\.js$/.test(real)) return {};
    const module: unknown = await import(new URL('index.js', pathToFileURL(real)).href);
    if (typeof module !== 'object' || module === null) return {};
    return {
      SessionManager: 'SessionManager' in module ? prototypeOf(module.SessionManager) : undefined,
    };
  } catch {
    return {};
  }
}

function prototypeOf(value: unknown): object | undefined {
  if (typeof value !== 'function') return undefined;
  const prototype: unknown = value.prototype;
  return typeof prototype === 'object' && prototype !== null ? prototype : undefined;
}
