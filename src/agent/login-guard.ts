/**
 * Loaded into every pi of a sandbox before pi itself (`node --require`), since all domains share `auth.json` and any of
 * them can write it (S5). pi runs a key there that begins with "!" as a command: one planted by a domain would run in
 * another. The same form in the user's own `models.json`, which no sandbox can write for another, is left alone. And an
 * entry can hold addresses: a domain's pi goes only to those that it has written there itself.
 */
import childProcess from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { getAgentDir, rootFile, stateDir } from '../agent-dir/index.ts';
import { isReadable, loginFile } from './login-file.ts';

const { execSync } = childProcess;
const { readFileSync, writeFileSync, writeSync } = fs;
// The one that pi itself goes to: it knows nothing of ours.
const env: NodeJS.ProcessEnv = { ...process.env, PI_ADAPTATIVE_CODING_AGENT_DIR: undefined };
const agentDir = getAgentDir({ env, home: env.HOME ?? '/', cwd: process.cwd() });
const told = new Set<string>();

function tell(line: string): void {
  if (!told.has(line)) writeSync(2, `pi-sandbox: ${line}\n`);
  told.add(line);
}

const REFUSAL =
  'a login in auth.json is a command; it was not run, for every domain can write that file. Put it into models.json of your configuration';

function guardedExec(...given: Parameters<typeof execSync>): ReturnType<typeof execSync> {
  const [command, options] = given;
  if (looksForKey(options) && !isFromModels(command)) {
    tell(REFUSAL);
    throw new Error(REFUSAL);
  }
  return execSync(command, options);
}

/** How pi 1.6.0 calls for a key, and nothing else of it does; a test holds this at each upgrade. */
function looksForKey(options: Parameters<typeof execSync>[1]): boolean {
  const { timeout, stdio } = options ?? {};
  return timeout === 10_000 && Array.isArray(stdio) && stdio.join() === 'ignore,pipe,ignore';
}

/** The merged file in this container's memory. */
function isFromModels(command: string): boolean {
  try {
    return readFileSync(rootFile(agentDir, 'models.json'), 'utf8').includes(JSON.stringify(`!${command}`));
  } catch {
    return false;
  }
}

const file = rootFile(agentDir, 'auth.json');
const login = loginFile(
  stateDir(agentDir, 'login-parts'),
  () => (isReadable(file) ? readFileSync(file, 'utf8') : ''),
  (provider, left) =>
    tell(
      `the login of ${provider} in auth.json leads somewhere that this domain did not give it (${left.join(', ')}); that is not used. ` +
        'Log in here too (/login), or name it in PASS_ENV or models.json of your configuration',
    ),
);

/** pi 1.6.0 reads and writes the file by these two, by this name; a test holds this at each upgrade. */
function guardedRead(...given: Parameters<typeof readFileSync>): ReturnType<typeof readFileSync> {
  const content = readFileSync(...given);
  return given[0] === file && typeof content === 'string' ? login.shown(content) : content;
}

function guardedWrite(...given: Parameters<typeof writeFileSync>): void {
  const [path, content, options] = given;
  writeFileSync(
    path,
    path === file && typeof content === 'string' ? login.written(content) : content,
    options,
  );
}

Object.assign(childProcess, { execSync: guardedExec });
Object.assign(fs, { readFileSync: guardedRead, writeFileSync: guardedWrite });
syncBuiltinESMExports();
