import { randomBytes } from 'node:crypto';
import { UsageError } from '../../lib/errors.ts';
import { jobsEnvironment, passedEnvironment, terminalEnvironment } from '../config/index.ts';
import { openContext } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import { askSupervisor, notReached } from '../sandbox/ask-supervisor.ts';
import { attach } from '../sandbox/attach.ts';
import { exitCodeAfter } from '../sandbox/ending.ts';
import { findSandbox } from '../sandbox/resolve-running.ts';
import { environmentFromFlags } from '../sandbox/start-options.ts';
import { terminalDescription } from '../sandbox/terminal-description.ts';
import { isTerminal } from './start.ts';

export interface ExecOptions extends GlobalOptions {
  domain?: string;
  env?: string[];
  workdir?: string;
}

/** A supervisor accepts at once, or something is wrong with it. */
const ANSWER_MS = 30_000;

/**
 * Runs a command in a sandbox that runs already, as `docker exec` does: nothing is started, built or configured anew, and
 * the command's bytes and exit code are its own (S15).
 */
export async function exec(
  word: string | undefined,
  command: readonly string[],
  options: ExecOptions,
): Promise<number> {
  if (command.length === 0) {
    throw new UsageError('which command? it stands after --', {
      hint: 'pi-sandbox exec . -- ls -l; for a shell: pi-sandbox shell',
    });
  }
  const { config, engine, env, home } = await openContext(options);
  const sandbox = await findSandbox(engine, config.INSTALLATION_PREFIX, word, options.domain);
  const terminal = isTerminal();
  const { columns, rows } = process.stdout;
  const description = terminal ? await terminalDescription(env, home) : undefined;
  const answer = await askSupervisor(
    engine,
    sandbox.id,
    {
      verb: 'run',
      id: randomBytes(16).toString('hex'),
      program: 'command',
      arguments: [...command],
      directory: options.workdir ?? sandbox.project,
      environment: {
        ...terminalEnvironment(env),
        ...jobsEnvironment(config, sandbox.domain),
        ...passedEnvironment(config, env).process,
        ...environmentFromFlags(options.env, env),
      },
      ...(description === undefined ? {} : { terminalDescription: description }),
      ...(terminal ? { terminal: { columns: columns || 80, rows: rows || 24 } } : {}),
    },
    ANSWER_MS,
  );
  if (answer === undefined) throw notReached(sandbox, `pi-sandbox shell ${sandbox.project} -- …`);
  const ending = await attach(answer.connection, process, terminal);
  try {
    return await exitCodeAfter(ending, engine, sandbox);
  } finally {
    engine.close();
  }
}
