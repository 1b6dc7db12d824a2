/**
 * One Session of the real pi, answered by the demo model: written into the domain's history, locked and seen while it
 * is open, found again by another pi, and removed. It has a working directory of its own below /tmp, so that no
 * project's history ever shows it.
 */
import { mkdtempSync, readdirSync, rmdirSync, rmSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Roots } from '../../agent-dir/index.ts';
import { hasCode, messageOf, OperationError } from '../../lib/errors.ts';
import { isSessionOpen, readSessionHeader, sessionDirectory, sessionLockDirectory } from '../../pi/index.ts';
import type { SelftestFacts } from '../../wire/index.ts';
import { isPresent } from './living-here.ts';
import { openPi, runPi } from './pi-process.ts';

const PROMPT = 'run true';
/** The kernel drops a lock with its holder; the supervisor reads the end of a connection a moment later. */
const SETTLE_MS = 2_000;

interface WrittenSession {
  id: string;
  file: string;
}

export async function trySession(roots: Roots): Promise<SelftestFacts['session']> {
  const facts: SelftestFacts['session'] = {
    lockHeld: false,
    lockFreed: false,
    present: false,
    continued: false,
    removed: false,
  };
  const cwd = mkdtempSync('/tmp/pi-sandbox-selftest-');
  const folder = sessionDirectory(roots.sessions, cwd);
  const env = { ...process.env, PI_SANDBOX_DEMO: '1', PWD: cwd };
  try {
    const session = await writeSession(roots, folder, cwd, env, facts);
    facts.continued = await continues(session, folder, cwd, env);
  } catch (error) {
    facts.problem = messageOf(error).slice(0, 2_000);
  } finally {
    try {
      removeOwn(folder, cwd);
      facts.removed = true;
    } catch (error) {
      facts.problem ??= messageOf(error).slice(0, 2_000);
    }
    rmSync(cwd, { recursive: true, force: true });
  }
  return facts;
}

async function writeSession(
  roots: Roots,
  folder: string,
  cwd: string,
  env: NodeJS.ProcessEnv,
  facts: SelftestFacts['session'],
): Promise<WrittenSession> {
  const locks = sessionLockDirectory(env);
  const pi = openPi(PROMPT, cwd, env);
  let session: WrittenSession | undefined;
  try {
    if (!(await pi.answered)) throw new OperationError(`pi did not answer: ${lastLine(pi.stderr())}`);
    session = ownSession(folder, cwd);
    facts.file = session.file;
    facts.lockHeld = isSessionOpen(locks, session);
    facts.present = await isPresent(roots, session.id);
  } finally {
    await pi.end();
  }
  for (let waited = 0; waited <= SETTLE_MS && !facts.lockFreed; waited += 100) {
    facts.lockFreed = !isSessionOpen(locks, session);
    if (!facts.lockFreed) await sleep(100);
  }
  return session;
}

/** By its id alone, as a user names it: the same file must grow, and no other appear. */
async function continues(
  session: WrittenSession,
  folder: string,
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<boolean> {
  const before = statSync(session.file).size;
  const { code, stderr } = await runPi(['--session', session.id, '-p', PROMPT], cwd, env);
  if (code !== 0) throw new OperationError(`pi --session ended with ${code}: ${lastLine(stderr)}`);
  return ownSession(folder, cwd).file === session.file && statSync(session.file).size > before;
}

function ownSession(folder: string, cwd: string): WrittenSession {
  const files = sessionFiles(folder);
  const [name, ...others] = files;
  if (name === undefined || others.length > 0) {
    throw new OperationError(`${files.length} Session files instead of one in ${folder}`);
  }
  const file = join(folder, name);
  const header = readSessionHeader(file);
  if (header?.cwd !== cwd) throw new OperationError(`${file} is not the Session that was written`);
  return { id: header.id, file };
}

/** Only Sessions of the directory that was made for this: nobody else ever worked there. */
function removeOwn(folder: string, cwd: string): void {
  for (const name of sessionFiles(folder)) {
    const file = join(folder, name);
    if (readSessionHeader(file)?.cwd === cwd) unlinkSync(file);
  }
  try {
    rmdirSync(folder);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}

function sessionFiles(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.slice(0, 500) || 'it said nothing';
}
