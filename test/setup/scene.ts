/** Where the e2e tests are: what the global setup hands to every file, and the environment that a command gets. */
import { join } from 'node:path';

/** Provided by the global setup. */
export interface E2e {
  /** The installation prefixes of this run begin with it. */
  run: string;
  /** The package under test. */
  root: string;
  /** The session image's full name. */
  image: string;
  /** Scratch of this run, removed at its end. */
  directory: string;
}

/** Not below /tmp: a project there is a case of its own (S17). */
export const SCRATCH = '/var/tmp/pi-sandbox-e2e';

/** What a user's shell would hand over and nothing of the developer's own. */
export function cleanEnvironment(home: string): NodeJS.ProcessEnv {
  const { PATH, DOCKER_HOST, DOCKER_CONTEXT, PI_SANDBOX_BASE_IMAGE } = process.env;
  return {
    PATH,
    HOME: home,
    // Shared by all installations, so that Node's compile cache is warm as a user's is.
    XDG_CACHE_HOME: join(SCRATCH, 'cache'),
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color',
    ...(DOCKER_HOST === undefined ? {} : { DOCKER_HOST }),
    ...(DOCKER_CONTEXT === undefined ? {} : { DOCKER_CONTEXT }),
    ...(PI_SANDBOX_BASE_IMAGE === undefined ? {} : { PI_SANDBOX_BASE_IMAGE }),
  };
}
