/**
 * Runs the command's bundle with the machine code of the verb's first call (docs/adr/0002).
 */
import { runBundle } from '../lib/code-cache.ts';

/** A verb as commander knows it; anything else is help or a mistake. */
const VERB = /^[a-z]{2,16}$/;

const BUNDLE = 'main.cjs';

/**
 * @param directory where the bundle lies
 * @param build names the bundle's content, so that no call runs another build's code
 */
export function runCached(require: NodeJS.Require, directory: string, build: string): void {
  const fs = process.getBuiltinModule('node:fs');
  const cache = cacheDirectory(build);
  const file = `${cache}/${nameOf(process.argv.slice(2))}`;
  const cachedData = readOwn(fs, file);
  const script = runBundle(require, `${directory}/${BUNDLE}`, cachedData);
  if (cachedData === undefined || script.cachedDataRejected === true) {
    process.on('exit', (code) => {
      if (code === 0) keep(fs, cache, file, script.createCachedData());
    });
  }
}

/** A cache for each verb: one that was made by `--help` would hold little of what `start` runs, and is never made anew. */
function nameOf(words: readonly string[]): string {
  const [word = ''] = words;
  return VERB.test(word) && !words.includes('--help') && !words.includes('-h') ? word : 'help';
}

/** Below the user's own cache directory: compiled code in a shared /tmp could be another user's. */
function cacheDirectory(build: string): string {
  const { homedir } = process.getBuiltinModule('node:os');
  const base = process.env.XDG_CACHE_HOME || `${homedir()}/.cache`;
  return `${base}/pi-sandbox/code/${process.version}-${process.arch}-${build}`;
}

/** Only a file that this user alone can have written: with sudo, HOME may still be somebody else's. */
function readOwn(fs: typeof import('node:fs'), file: string): Buffer | undefined {
  try {
    const { uid, mode } = fs.lstatSync(file);
    const own = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
    return own ? intact(fs.readFileSync(file)) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * V8 checks the source and the length and then trusts every bit: one wrong bit on a disk would crash each call in V8
 * itself. So the code is there twice; comparing it costs a fraction of what loading a hash would.
 */
function intact(content: Buffer): Buffer | undefined {
  const half = content.length / 2;
  if (half === 0 || !Number.isInteger(half)) return undefined;
  return content.subarray(0, half).equals(content.subarray(half)) ? content.subarray(0, half) : undefined;
}

/** Writes the cache whole or not at all, and drops other builds' for this Node. Without it everything works, slower. */
function keep(fs: typeof import('node:fs'), cache: string, file: string, data: Buffer): void {
  try {
    if (fs.mkdirSync(cache, { recursive: true, mode: 0o700 }) !== undefined) dropOthers(fs, cache);
    const incoming = `${file}.${process.pid}`;
    fs.writeFileSync(incoming, Buffer.concat([data, data]), { mode: 0o600 });
    fs.renameSync(incoming, file);
  } catch {
    // No home, no space, no permission.
  }
}

function dropOthers(fs: typeof import('node:fs'), cache: string): void {
  const at = cache.lastIndexOf('/');
  const [directory, name] = [cache.slice(0, at), cache.slice(at + 1)];
  const ofThisNode = name.slice(0, name.lastIndexOf('-') + 1);
  for (const other of fs.readdirSync(directory)) {
    if (other.startsWith(ofThisNode) && other !== name)
      fs.rmSync(`${directory}/${other}`, { recursive: true, force: true });
  }
}
