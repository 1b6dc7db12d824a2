/**
 * Loaded into every pi of a sandbox before pi itself (`node --require`). pi runs a key of `auth.json` that begins with
 * "!" as a command, and every domain can write that file: a command planted there by one would run in another (S5).
 * The same form in the user's own `models.json`, which no sandbox can write for another, is left alone.
 */
import childProcess from 'node:child_process';
import { readFileSync, writeSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { getAgentDir, rootFile } from '../agent-dir/index.ts';

const { execSync } = childProcess;
let said = false;

function guarded(...given: Parameters<typeof execSync>): ReturnType<typeof execSync> {
  const [command, options] = given;
  if (looksForKey(options) && !isFromModels(command)) {
    if (!said) writeSync(2, `pi-sandbox: ${REFUSAL}\n`);
    said = true;
    throw new Error(REFUSAL);
  }
  return execSync(command, options);
}

const REFUSAL =
  'a login in auth.json is a command; it was not run, for every domain can write that file. Put it into models.json of your configuration';

/** How pi 1.6.0 calls for a key, and nothing else of it does; a test holds this at each upgrade. */
function looksForKey(options: Parameters<typeof execSync>[1]): boolean {
  const { timeout, stdio } = options ?? {};
  return timeout === 10_000 && Array.isArray(stdio) && stdio.join() === 'ignore,pipe,ignore';
}

/** The merged file in this container's memory. */
function isFromModels(command: string): boolean {
  try {
    const { env } = process;
    const agentDir = getAgentDir({ env, home: env.HOME ?? '/', cwd: process.cwd() });
    const models = readFileSync(rootFile(agentDir, 'models.json'), 'utf8');
    return models.includes(JSON.stringify(`!${command}`));
  } catch {
    return false;
  }
}

Object.assign(childProcess, { execSync: guarded });
syncBuiltinESMExports();
