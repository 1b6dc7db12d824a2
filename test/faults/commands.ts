/** Runs commands under test and says what no outcome of any of them may be. */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { text } from 'node:stream/consumers';

/** No start may take longer, whatever has happened before it; one that does hangs as far as a user can tell. */
export const PATIENCE_MS = 60_000;

export interface Outcome {
  /** What a shell would report: the exit code, or 128 + the signal's number. */
  code: number;
  stdout: string;
  stderr: string;
  milliseconds: number;
}

export interface RunningCommand {
  readonly child: ChildProcess;
  readonly outcome: Promise<Outcome>;
}

/** Starts a command with no input; one that hangs is ended, and its outcome is a failure that says so. */
export function startCommand(
  command: readonly [string, ...string[]],
  options: { env?: NodeJS.ProcessEnv; cwd?: string; patienceMs?: number } = {},
): RunningCommand {
  const [file, ...words] = command;
  const { patienceMs = PATIENCE_MS, ...rest } = options;
  const started = Date.now();
  const child = spawn(file, words, { ...rest, stdio: ['ignore', 'pipe', 'pipe'] });
  let hangs = false;
  const timer = setTimeout(() => {
    hangs = true;
    child.kill('SIGKILL');
  }, patienceMs);
  const exit = new Promise<number>((settle, fail) => {
    child.once('error', fail);
    child.once('close', (code, signal) =>
      settle(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
  });
  const outcome = Promise.all([exit, text(child.stdout), text(child.stderr)])
    .then(([code, stdout, stderr]) => {
      const milliseconds = Date.now() - started;
      if (hangs) throw new Error(`hangs: ${words.join(' ')}\n${stdout}${stderr}`);
      return { code, stdout, stderr, milliseconds };
    })
    .finally(() => clearTimeout(timer));
  // Whoever waits for it later still gets its failure.
  outcome.catch(() => undefined);
  return { child, outcome };
}

/** Runs a command that has to succeed and returns what it printed. */
export async function output(command: readonly [string, ...string[]]): Promise<string> {
  const { code, stdout, stderr } = await startCommand(command, { patienceMs: 120_000 }).outcome;
  if (code !== 0) throw new Error(`${command.join(' ')} failed with ${code}: ${stderr}`);
  return stdout;
}

/** Fails with `what` and the outcome if something does not hold. */
export function expectThat(holds: boolean, what: string, outcome?: Outcome): asserts holds {
  if (holds) return;
  const facts =
    outcome === undefined
      ? ''
      : `: exit code ${outcome.code} after ${outcome.milliseconds} ms\n${outcome.stdout}${outcome.stderr}`;
  throw new Error(`${what}${facts}`);
}

/** Rule 5: whatever happened, what is told is a sentence and never a stack trace or a fault of the program itself. */
export function expectPlainWords(outcome: Outcome): void {
  const { stderr } = outcome;
  expectThat(!/^\s+at .+[:(]/m.test(stderr), 'a stack trace was shown', outcome);
  expectThat(!/fault of pi-sandbox itself|internal error/.test(stderr), 'it calls it its own fault', outcome);
  expectThat(!/\bundefined\b|\[object /.test(stderr), 'the message is not for people', outcome);
  expectThat(![132, 133, 134, 135, 136, 139].includes(outcome.code), 'it crashed', outcome);
}

export async function expectSuccess(running: RunningCommand, what: string): Promise<Outcome> {
  const outcome = await running.outcome;
  expectPlainWords(outcome);
  expectThat(outcome.code === 0, what, outcome);
  return outcome;
}

/** It failed, in one clear message that names the reason. */
export function expectClearFailure(outcome: Outcome, reason: RegExp): void {
  expectPlainWords(outcome);
  expectThat(
    outcome.code === 1 || outcome.code === 2 || outcome.code === 3,
    'not a failure of ours',
    outcome,
  );
  expectThat(/^pi-sandbox: /m.test(outcome.stderr), 'it failed without a message of ours', outcome);
  expectThat(reason.test(outcome.stderr), `the message says nothing of ${reason}`, outcome);
}

/** Waits for all of them, also after one has failed, so that none goes on into what comes next; then fails as it did. */
export async function allOf(work: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(work);
  const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  if (reasons.length > 0) {
    throw new Error(
      reasons.map((reason) => (reason instanceof Error ? reason.message : String(reason))).join('\n'),
    );
  }
}
