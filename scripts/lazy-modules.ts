import path from 'node:path';
import type { Plugin } from 'esbuild';

/**
 * What dockerode loads at its start and we never call: gRPC and protobuf for BuildKit's sessions, an SSH client
 * (engines over SSH go through the user's own `ssh`), and the packing of build contexts (done with our tar-fs). Together
 * they cost more than all the rest of the command, on every start.
 */
const NEVER_CALLED: readonly RegExp[] = [
  /[\\/]dockerode[\\/]lib[\\/](session|buildkit)\.js$/,
  /[\\/]docker-modem[\\/]lib[\\/]ssh\.js$/,
];

/** Packages that dockerode and its modem ask for by name, replaced only for them. */
const NEVER_CALLED_PACKAGES = /^(@balena\/dockerignore|tar-fs)$/;
const DOCKERODE = /[\\/]node_modules[\\/](dockerode|docker-modem)[\\/]/;

/** Node's own streams do what this copy of them does. */
const READABLE_STREAM = /^readable-stream$/;

/** Loaded when one of its functions is first called: commander and the look at a project's git ask for it early, and few calls need it. */
const CALLED_LATE = /^(node:)?child_process$/;

/** The modem's debug log, off unless DEBUG is set; it looks at terminal and colours before anything is logged. */
const DEBUG = /^debug$/;

/** An esbuild plugin that keeps out of the command's start what it does not use: most of dockerode. */
export function lazyModules(): Plugin {
  return {
    name: 'lazy-modules',
    setup(build) {
      build.onResolve({ filter: /^\.\/(session|buildkit|ssh)$/ }, ({ path: request, resolveDir }) => {
        const file = path.resolve(resolveDir, `${request}.js`);
        return NEVER_CALLED.some((pattern) => pattern.test(file))
          ? { path: file, namespace: 'never-called' }
          : undefined;
      });
      build.onResolve({ filter: NEVER_CALLED_PACKAGES }, ({ path: name, importer }) =>
        DOCKERODE.test(importer) ? { path: name, namespace: 'never-called' } : undefined,
      );
      build.onResolve({ filter: READABLE_STREAM }, ({ importer }) =>
        DOCKERODE.test(importer) ? { path: 'node:stream', external: true } : undefined,
      );
      build.onResolve({ filter: DEBUG }, ({ path: name, importer }) =>
        DOCKERODE.test(importer) ? { path: name, namespace: 'silent' } : undefined,
      );
      build.onLoad({ filter: DEBUG, namespace: 'silent' }, () => ({
        contents: 'module.exports = () => () => {};',
        loader: 'js',
      }));
      build.onResolve({ filter: CALLED_LATE }, ({ path: name, namespace }) =>
        namespace === 'called-late'
          ? { path: name, external: true }
          : { path: name, namespace: 'called-late' },
      );
      build.onLoad({ filter: /.*/, namespace: 'called-late' }, ({ path: name }) => ({
        contents: calledLate(name),
        loader: 'js',
      }));
      build.onLoad({ filter: /.*/, namespace: 'never-called' }, ({ path: name }) => ({
        contents: neverCalled(path.basename(name)),
        loader: 'js',
      }));
    },
  };
}

/** Should dockerode come to call one of them after an update, that says so and does not pass silently. */
function neverCalled(name: string): string {
  const message = JSON.stringify(`${name} is left out of this build (scripts/lazy-modules.ts)`);
  return `module.exports = function () { throw new Error(${message}); };`;
}

/** One of Node's modules, with each of its exports fetched when it is used. */
function calledLate(name: string): string {
  const exported = Object.keys(process.getBuiltinModule(name) ?? {});
  const getters = exported.map((key) => `get ${key}() { return require(${JSON.stringify(name)}).${key}; }`);
  return `module.exports = { ${getters.join(', ')} };`;
}
