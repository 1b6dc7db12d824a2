/**
 * pi's own classes, without importing pi by name: Node would find a second copy of it then, and pi would have to
 * transform the extension first, which costs a fresh container half a second. The running pi's own entry file tells
 * where its modules are, and they are loaded already.
 */
import { realpathSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/** The prototype of the running pi's SessionManager; undefined for a pi that is laid out in another way. */
export async function sessionManagerPrototype(entry: string | undefined): Promise<object | undefined> {
  try {
    const real = entry === undefined ? '' : realpathSync(entry);
    // Anything else is not pi's command, and the file beside it is none of ours to run.
    if (!/\/pi-coding-agent\/dist\/bundle\/(cli|rpc-entry)\.js$/.test(real)) return undefined;
    const module: unknown = await import(new URL('index.js', pathToFileURL(real)).href);
    if (typeof module !== 'object' || module === null || !('SessionManager' in module)) return undefined;
    const { SessionManager } = module;
    if (typeof SessionManager !== 'function') return undefined;
    const prototype: unknown = SessionManager.prototype;
    return typeof prototype === 'object' && prototype !== null ? prototype : undefined;
  } catch {
    return undefined;
  }
}
