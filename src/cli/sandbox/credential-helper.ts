/** Runs the user's credential helpers for one question (S10), bounded in time, number and output. */
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode, LimitError, OperationError, TimeoutError } from '../../lib/errors.ts';

/** A helper may ask the user something in a window of its own; git in the sandbox waits as long. */
export const HELPER_MS = 60_000;
/** Between asking a helper that is too slow to end, and ending it. */
const GRACE_MS = 2_000;
/** Helpers of the user's that run at the same time; a sandbox that asks more waits for none (rule 7). */
const MAX_RUNNING = 8;
let running = 0;
const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * What `git credential fill` answers to these lines, asked in no repository, and without a question on a terminal or in
 * a window of git's own: only helpers answer.
 *
 * @param limitMs after which a helper, and what it has started, is ended
 * @throws LimitError when too many run already, TimeoutError when it is too slow, OperationError when no helper knows
 */
export async function askHelpers(
  question: string,
  env: NodeJS.ProcessEnv,
  limitMs = HELPER_MS,
): Promise<string> {
  if (running >= MAX_RUNNING) throw new LimitError('too many questions at once');
  running++;
  try {
    return await runGit(question, env, limitMs);
  } finally {
    running--;
  }
}

async function runGit(question: string, env: NodeJS.ProcessEnv, limitMs: number): Promise<string> {
  const clean = Object.entries(env).filter(([name]) => !/^GIT_(?!CONFIG_GLOBAL$|CONFIG_SYSTEM$)/.test(name));
  const child = spawn('git', ['credential', 'fill'], {
    cwd: '/',
    env: { ...Object.fromEntries(clean), GIT_TERMINAL_PROMPT: '0', GIT_ASKPASS: '', GIT_DIR: '/dev/null' },
    // In a process group of its own, so that what a helper has started can be ended with it.
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const { promise: answer, resolve, reject } = Promise.withResolvers<string>();
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    if (text.length > MAX_ANSWER_BYTES) reject(new LimitError("a helper's answer is too long"));
  });
  child.once('error', reject);
  child.once('close', (code) => {
    if (code === 0) resolve(Buffer.from(text, 'latin1').toString('utf8'));
    else reject(new OperationError('no helper answers'));
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(question);
  const timer = setTimeout(() => reject(new TimeoutError('the helper is too slow')), limitMs);
  try {
    return await answer;
  } catch (error) {
    // Also after a plain no: of a helper that failed nothing may go on either.
    await endGroup(child.pid);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** What has left the group, as a daemon of a helper's does, is let be. */
async function endGroup(group: number | undefined): Promise<void> {
  if (group === undefined || !signalGroup(group, 'SIGTERM')) return;
  await sleep(GRACE_MS);
  signalGroup(group, 'SIGKILL');
}

/** False when nothing is left of it. */
function signalGroup(group: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-group, signal);
  } catch (error) {
    if (hasCode(error, 'ESRCH', 'EPERM')) return false;
    throw error;
  }
}
