/** Which pi packages are installed below an agent directory: `npm/node_modules/<name>` and `git/<host>/<path>`. */
import { existsSync } from 'node:fs';
import { join, normalize } from 'node:path';

/** An npm name with its version cut off: `@scope/name@1.2` is `@scope/name`. */
const NPM = /^npm:(@?[^@/\s]+(?:\/[^@/\s]+)?)(?:@.*)?$/;
/** `git:host/path`, `https://host/path` and `ssh://git@host/path`, each with or without `.git` and `@ref`. */
const GIT =
  /^(?:git:)?(?:(?:https?|ssh|git):\/\/)?(?:[^@/\s]+@)?([^/:@\s]+\.[^/:@\s]+)[/:]([^@\s]+?)(?:\.git)?(?:@.*)?$/;

/**
 * Those of the settings' `packages` that pi would have to fetch at its start (S8). A local path is never fetched, and
 * of a form that is not known here it is said to be missing: then pi is let out to look for itself.
 */
export function missingPackages(agentDirectory: string, sources: readonly string[]): string[] {
  return sources.filter((source) => {
    const path = installPath(agentDirectory, source);
    return path === undefined || (path !== 'local' && !existsSync(path));
  });
}

function installPath(agentDirectory: string, source: string): string | 'local' | undefined {
  if (/^(?:\.{0,2}\/|~|[A-Za-z]:[/\\])/.test(source)) return 'local';
  const npm = NPM.exec(source)?.[1];
  if (npm !== undefined) return join(agentDirectory, 'npm', 'node_modules', npm);
  const git = GIT.exec(source);
  if (git?.[1] === undefined || git[2] === undefined) return undefined;
  const path = normalize(git[2]);
  return path.startsWith('..') ? undefined : join(agentDirectory, 'git', git[1], path);
}
