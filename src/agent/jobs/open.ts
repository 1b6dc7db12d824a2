import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import {
  ConversationOpenError,
  conversationTarget,
  detachedEnvironment,
  isLive,
  type JobRecord,
  JobRunningError,
  readJob,
} from '../../jobs/index.ts';
import { messageOf, OperationError } from '../../lib/errors.ts';
import { type SessionLock, trySessionLock } from '../../pi/index.ts';
import { type JobContext, jobContext, jobNamed, PI } from './context.ts';

/**
 * Opens a job's whole conversation in interactive pi (J13). While the job runs it refuses: two would write one conversation.
 */
export async function open(name: string): Promise<number> {
  const context = await jobContext();
  const { directory, record } = await jobNamed(context, name);
  if (isLive((await readJob(directory)).status)) throw new JobRunningError(name, 'opened');
  if (!existsSync(record.session)) {
    throw new OperationError(`job "${name}" has no conversation yet`, {
      hint: `multi-agent peek ${name} says what it did`,
    });
  }
  if (!existsSync(record.cwd))
    throw new OperationError(`the directory of job "${name}" is gone: ${record.cwd}`);
  const lock = holdConversation(context, record);
  try {
    return await interactivePi(record.session, record.cwd, context.env);
  } finally {
    lock?.release();
  }
}

/**
 * A pi in a sandbox takes the lock of its Session itself (H3). Elsewhere it takes none, so this command holds it as long as
 * it is open: a resume then knows that it has to wait.
 */
function holdConversation({ env, deps }: JobContext, record: JobRecord): SessionLock | undefined {
  if (env.PI_SANDBOX_LOCK_DIR) return undefined;
  const holder = { ...deps.identity, startedAt: deps.clock.now().toISOString() };
  const attempt = trySessionLock(deps.sessionLocks, conversationTarget(record), holder);
  if ('lock' in attempt) return attempt.lock;
  throw new ConversationOpenError(record.name, attempt.takenBy);
}

/** pi has the terminal; whatever it is sent by keys is its own to handle. */
function interactivePi(session: string, cwd: string, env: NodeJS.ProcessEnv): Promise<number> {
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) process.on(signal, () => undefined);
  const pi = spawn(PI.command, [...PI.args, '--session', session], {
    cwd,
    env: { ...detachedEnvironment(env), PWD: cwd },
    stdio: 'inherit',
  });
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => pi.kill(signal));
  return new Promise((settle, fail) => {
    pi.once('error', (error) => fail(new OperationError(`pi could not be started: ${messageOf(error)}`)));
    pi.once('exit', (code, signal) =>
      settle(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
  });
}
