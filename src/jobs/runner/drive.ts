/** One prompt with one pi, from its start until nothing of it lives any more (J4). */
import { setImmediate } from 'node:timers/promises';
import { messageOf, OperationError } from '../../lib/errors.ts';
import {
  openPiRpc,
  type PiEvent,
  type PiProcess,
  type PiRpc,
  type PiUsage,
  spawnPi,
  type TurnOutcome,
  textOfMessage,
} from '../../pi/index.ts';
import { readText } from '../files.ts';
import type { RunEvent } from '../status.ts';
import { type LeftBehind, watchProcesses } from './left-behind.ts';
import { piCommand } from './pi-command.ts';
import { progressOf } from './progress-lines.ts';
import type { Result } from './result.ts';
import type { Run } from './run.ts';

/** An abort that takes longer is none: pi is ended (J6). */
const ABORT_MS = 10_000;

/** pi's tool for jobs, of our extension (J12). */
const JOBS_TOOL = 'multi_agent';

export const NO_RESULT: Result = { output: '', stderr: '' };

const SETTINGS_LOCKED = /Invalid settings file .*Lock file is already being held/;

/** Told of all that pi uses, as it does. */
export type UsageReceiver = (usage: PiUsage) => void;

/** So long pi is started again while others have its settings locked; what a killed one leaves goes after 10 s. */
const SETTINGS_MS = 20_000;

export async function drivePi(run: Run, onUsage: UsageReceiver): Promise<Result> {
  const { clock } = run.options;
  const deadline = clock.monotonic() + SETTINGS_MS;
  for (;;) {
    const result = await driveOnce(run, onUsage);
    if (!(result instanceof SettingsLockedError)) return result;
    const { state } = run.life;
    if (clock.monotonic() > deadline || !state.live || state.wish !== undefined) {
      run.life.happen({ type: 'gone', reason: `not-started: ${result.message}` });
      return NO_RESULT;
    }
    await run.tell({ kind: 'retry', text: `${result.message}; it is started again` });
  }
}

/** pi goes on with defaults where others hold the lock of its settings too long: nothing is to be done with those (S8). */
class SettingsLockedError extends OperationError {}

async function driveOnce(run: Run, onUsage: UsageReceiver): Promise<Result | SettingsLockedError> {
  const { held, options, life, stopping, questions, failures } = run;
  const { clock, ids, limits } = options;
  let pi: PiProcess;
  try {
    pi = await spawnPi(piCommand(held, options.piCommand, options.env));
  } catch (error) {
    life.happen({ type: 'gone', reason: `not-started: ${messageOf(error)}` });
    return NO_RESULT;
  }
  const processes = watchProcesses(held.directory, pi.pid, clock, failures);
  const { handler } = questions;
  const client = openPiRpc(pi, {
    clock,
    ids,
    onEvent: (event) => receive(run, processes, event, onUsage),
    ...(handler && { onDialog: handler }),
    limits: { abortMs: ABORT_MS, ...limits },
  });
  let output = '';
  let failure: unknown;
  try {
    stopping.attach(client, () => processes.look({ now: true }));
    const outcome = await workOn(run, client);
    output = outcome.text;
    life.happen(endOf(outcome));
    const { state } = life;
    if (!state.live && state.status === 'done') options.onResult?.(output);
  } catch (error) {
    failure = error;
  } finally {
    processes.look({ now: true });
    await client.stop().catch((error: unknown) => failures.note(error));
    await endTheRest(run, processes);
  }
  if (failure instanceof SettingsLockedError) return failure;
  life.happen({ type: 'gone', reason: `pi-ended: ${messageOf(failure)}` });
  return { output, stderr: stderrOf(client) };
}

async function workOn({ held, life, stopping }: Run, client: PiRpc): Promise<TurnOutcome> {
  const [prompt] = await Promise.all([readText(held.directory, 'prompt.txt'), client.ready()]);
  if (prompt === undefined) throw new OperationError('prompt.txt is gone');
  // What it wrote to standard error before its first answer is read by then.
  await setImmediate();
  if (SETTINGS_LOCKED.test(client.stderr.text())) {
    throw new SettingsLockedError('pi could not read its settings, which others had locked');
  }
  const turn = client.prompt(prompt);
  stopping.working(turn.outcome);
  turn.accepted.then(
    (acceptance) => acceptance !== 'refused' && life.happen({ type: 'prompted' }),
    () => {},
  );
  return turn.outcome;
}

async function receive(
  { life, steering, questions, tell, wrote }: Run,
  processes: LeftBehind,
  event: PiEvent,
  onUsage: UsageReceiver,
): Promise<void> {
  switch (event.type) {
    case 'agent_start':
      // The answer to a slash command comes only when it has ended.
      life.happen({ type: 'prompted' });
      break;
    case 'message_start':
      if (event.message.role === 'user' && steering.delivered(textOfMessage(event.message))) {
        await tell({ kind: 'steer', text: textOfMessage(event.message) });
      }
      break;
    case 'message_end': {
      const { role, provider, model } = event.message;
      if (role === 'assistant' && model !== undefined) {
        wrote(provider === undefined ? model : `${provider}/${model}`);
      }
      const { usage, toolName } = event.message;
      // What jobs used stands in their own files, and is told again by the tool that started them.
      if (usage && toolName !== JOBS_TOOL) onUsage(usage);
      break;
    }
    case 'compaction_end':
      if (event.result?.usage) onUsage(event.result.usage);
      break;
    case 'tool_execution_start':
      processes.expect();
      break;
    case 'tool_execution_end':
      processes.look();
      break;
    case 'extension_ui_request':
      questions.see(event);
      break;
    default:
  }
  const progress = progressOf(event);
  if (progress) await tell(progress);
}

function endOf(outcome: TurnOutcome): RunEvent {
  switch (outcome.kind) {
    case 'done':
      return { type: 'settled', outcome: 'done', reason: 'done' };
    case 'aborted':
      return { type: 'settled', outcome: 'aborted', reason: 'it was aborted' };
    case 'failed':
      return { type: 'settled', outcome: 'failed', reason: `${outcome.cause}: ${outcome.reason}` };
  }
}

async function endTheRest({ tell, failures }: Run, processes: LeftBehind): Promise<void> {
  try {
    const { survivors } = await processes.end().catch((error: unknown) => {
      failures.note(error);
      // What was short then may be there again.
      return processes.end();
    });
    if (survivors.length === 0) return;
    const listed = survivors.slice(0, 20).join(', ');
    await tell({ kind: 'warning', text: `${survivors.length} processes could not be ended: ${listed}` });
  } catch (error) {
    failures.note(error);
  }
}

function stderrOf({ stderr }: PiRpc): string {
  const gone = stderr.dropped === 0 ? '' : `[${stderr.dropped} bytes before are gone]\n`;
  return `${gone}${stderr.text()}`;
}
