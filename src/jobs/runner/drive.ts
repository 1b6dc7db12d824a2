/** One prompt with one pi, from its start until nothing of it lives any more (J4). */
import { messageOf, OperationError } from '../../lib/errors.ts';
import {
  openPiRpc,
  type PiEvent,
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

/** Told of all that pi uses, as it does. */
export type UsageReceiver = (usage: PiUsage) => void;

export async function drivePi(run: Run, onUsage: UsageReceiver): Promise<Result> {
  const { held, options, life, stopping, questions, failures } = run;
  const { clock, ids, limits } = options;
  let pi: Awaited<ReturnType<typeof spawnPi>>;
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
  let reason = 'pi-ended: it gave no reason';
  try {
    stopping.attach(client, () => processes.look({ now: true }));
    const outcome = await workOn(run, client);
    output = outcome.text;
    life.happen(endOf(outcome));
  } catch (error) {
    reason = `pi-ended: ${messageOf(error)}`;
  } finally {
    processes.look({ now: true });
    await client.stop().catch((error: unknown) => failures.note(error));
    await endTheRest(run, processes);
  }
  life.happen({ type: 'gone', reason });
  return { output, stderr: stderrOf(client) };
}

async function workOn({ held, life, stopping }: Run, client: PiRpc): Promise<TurnOutcome> {
  const [prompt] = await Promise.all([readText(held.directory, 'prompt.txt'), client.ready()]);
  if (prompt === undefined) throw new OperationError('prompt.txt is gone');
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
    const { survivors } = await processes.end();
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
