/** The addon by which Node takes kernel locks, loaded without its package's search for it. */
import { createRequire } from 'node:module';
import { hasCode } from './errors.ts';

interface Native {
  tryLock(fd: number, offset: number, length: number, options?: { shared?: boolean }): boolean;
  unlock(fd: number): void;
}
let loaded: Native | undefined;

/** Loaded when the first lock is taken, not when a command starts. */
export function native(): Native {
  if (loaded) return loaded;
  const require = createRequire(import.meta.url);
  const binding: Native = prebuilt(require) ?? require('fs-native-extensions');
  loaded = binding;
  return binding;
}

/** What the package's own index calls: offset and length of 0 are the whole file. */
interface Addon {
  tryLock(fd: number, offset: number, length: number, exclusive: boolean): void;
  unlock(fd: number, offset: number, length: number): void;
}

/**
 * The package's addon without the package's search for it, which takes 10 to 20 ms, once in the supervisor and once in
 * every pi. Undefined where it is not at its usual place: then the package looks for it.
 */
function prebuilt(require: NodeJS.Require): Native | undefined {
  let addon: Addon;
  try {
    const platform = `${process.platform}-${process.arch}`;
    addon = require(`fs-native-extensions/prebuilds/${platform}/fs-native-extensions.node`);
  } catch {
    return undefined;
  }
  return {
    tryLock(fd, offset, length, options) {
      try {
        addon.tryLock(fd, offset, length, options?.shared !== true);
        return true;
      } catch (error) {
        if (hasCode(error, 'EAGAIN')) return false;
        throw error;
      }
    },
    unlock: (fd) => addon.unlock(fd, 0, 0),
  };
}
