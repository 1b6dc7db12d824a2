/** Which pi packages are installed: `<npm>/node_modules/<name>` and `<git>/<host>/<path>`. */
import { existsSync } from 'node:fs';
import { join, normalize } from 'node:path';

/** An npm name with its version cut off: `@scope/name@1.2` is `@scope/name`. */
const NPM = /^npm:(@?[^@/\s]+(?:\/[^@/\s]+)?)(?:@.*)?$/;
/** `git:host/path`, `https://host/path` and `ssh://git@host/path`, each with or without `.git` and `@ref`. */
const GIT =
  /^(?:git:)?(?:(?:https?|ssh|git):\/\/)?(?:[^@/\s]+@)?([^/:@\s]+\.[^/:@\s]+)[/:]([^@\s]+?)(?:\.git)?(?:@.*)?$/;

/** The directories in an agent directory that pi installs into. */
export interface PackagePlaces {
  readonly npm: string;
  readonly git: string;
}

/**
 * Those of the settings' `packages` that pi would have to fetch at its start (S8). A local path is never fetched, and
 * of a form that is not known here it is said to be missing: then pi is let out to look for itself.
 */
export function missingPackages(places: PackagePlaces, sources: readonly string[]): string[] {
  return sources.filter((source) => {
    const path = installPath(places, source);
    return path === undefined || (path !== 'local' && !existsSync(path));
  });
}

function installPath(places: PackagePlaces, source: string): string | 'local' | undefined {
  if (/^(?:\.{0,2}\/|~|[A-Za-z]:[/\\])/.test(source)) return 'local';
  const npm = NPM.exec(source)?.[1];
  if (npm !== undefined) return join(places.npm, 'node_modules', npm);
  const git = GIT.exec(source);
  if (git?.[1] === undefined || git[2] === undefined) return undefined;
  const path = normalize(git[2]);
  return path.startsWith('..') ? undefined : join(places.git, git[1], path);
}
