import type { Script } from 'node:vm';

/**
 * Runs a bundle that esbuild made as CommonJS, with the machine code of an earlier run. Node's own compile cache keeps
 * what is compiled while a module loads; `createCachedData()` of the result, called at the end, has all that was used.
 *
 * @param filename absolute; its content must be ASCII
 */
export function runBundle(require: NodeJS.Require, filename: string, cachedData: Buffer | undefined): Script {
  // Not imported: an import of `fs` reads all of its exports, of which some load more.
  const { readFileSync } = process.getBuiltinModule('node:fs');
  const vm = process.getBuiltinModule('node:vm');
  const source = readFileSync(filename, 'latin1');
  const script = new vm.Script(`(function(exports,require,module,__filename,__dirname){${source}\n})`, {
    filename,
    ...(cachedData === undefined ? {} : { cachedData }),
  });
  const module = { exports: {} };
  const directory = filename.slice(0, filename.lastIndexOf('/'));
  script.runInThisContext()(module.exports, require, module, filename, directory);
  return script;
}
