/**
 * The file that the container's entrypoint runs: the supervisor's bundle, with the code cache that was made when the
 * image was built. With PI_SANDBOX_WARM_CACHE it makes that cache.
 */
import { createRequire } from 'node:module';
import { runBundle } from '../lib/code-cache.ts';

const fs = process.getBuiltinModule('node:fs');
const directory = import.meta.dirname;
const target = process.env.PI_SANDBOX_WARM_CACHE;
const script = runBundle(createRequire(import.meta.url), `${directory}/supervisor.cjs`, readCache());
if (target !== undefined) process.on('exit', () => fs.writeFileSync(target, script.createCachedData()));

/** The image's root is not writable to the sandbox, so what lies there is the image's own. */
function readCache(): Buffer | undefined {
  try {
    return fs.readFileSync(`${directory}/supervisor.cache`);
  } catch {
    return undefined;
  }
}
