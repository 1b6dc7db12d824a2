/** What needs no engine: Node and the configuration (S6, S23). */

import { messageOf, PiSandboxError } from '../../lib/errors.ts';
import { type Config, domainTies, type Environment, examineConfig } from '../config/index.ts';
import { ok, problem, type Row, warning } from './row.ts';

/** As in package.json. */
const OLDEST_NODE = [22, 19] as const;

export function checkNode(version: string): Row {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const [oldMajor, oldMinor] = OLDEST_NODE;
  const enough = major > oldMajor || (major === oldMajor && minor >= oldMinor);
  if (enough) return ok('Node.js', version);
  return problem('Node.js', `${version} is too old`, `install Node.js ${oldMajor}.${oldMinor} or later`);
}

/** The configuration with what is wrong in it; undefined when nothing of it could be read. */
export async function checkConfig(
  env: Environment,
  home: string,
): Promise<{ config: Config | undefined; rows: Row[] }> {
  const advice = 'pi-sandbox config check';
  try {
    const { config, problems } = await examineConfig({ env, home, cwd: process.cwd() });
    const wrong = [...problems, ...domainTies(config)];
    const rows = [
      ...wrong.map((error) => problem('configuration', messageOf(error), advice)),
      ...config.warnings.map((line) => warning('configuration', line, advice)),
    ];
    return { config, rows: rows.length > 0 ? rows : [ok('configuration', config.directory)] };
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
    return { config: undefined, rows: [problem('configuration', messageOf(error), error.hint ?? advice)] };
  }
}
