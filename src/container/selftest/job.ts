/**
 * One job of the real pi, answered by the demo model (S16): run to its end by `multi-agent`, and removed with its
 * conversation. Its project is a directory below /tmp, so that no project's list ever shows it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { messageOf } from '../../lib/errors.ts';
import type { SelftestFacts } from '../../wire/index.ts';
import { type PiOutcome, runProgram } from './pi-process.ts';

const MULTI_AGENT = '/usr/local/bin/multi-agent';
const NAME = 'selftest';

export async function tryJob(): Promise<SelftestFacts['job']> {
  const facts: SelftestFacts['job'] = { done: false, removed: false };
  const cwd = mkdtempSync('/tmp/pi-sandbox-selftest-job-');
  const env = { ...process.env, PI_SANDBOX_DEMO: '1', PI_SANDBOX_PROJECT: cwd, PWD: cwd };
  const call = (...words: string[]): Promise<PiOutcome> => runProgram(MULTI_AGENT, words, cwd, env);
  try {
    const ran = await call('run', '--name', NAME, '--timeout', '1m', 'run true');
    facts.done = ran.code === 0 && ran.stdout.trim() !== '';
    if (!facts.done) facts.problem = (ran.stderr.trim() || `exit code ${ran.code}`).slice(-2_000);
    const removed = await call('rm', NAME);
    facts.removed = removed.code === 0;
    if (!facts.removed) facts.problem ??= removed.stderr.trim().slice(-2_000);
  } catch (error) {
    facts.problem = messageOf(error).slice(0, 2_000);
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
  return facts;
}
