/**
 * What the tool `agent_team` does (R4). Its answers are the JSON documents of the commands: `{ok:true,…}`, and for a refusal
 * `{ok:false,error:{code,…}}` as the failure of the call.
 */
import { jsonText } from '../../../lib/json-text.ts';
import type { ToolResult } from '../../../pi/index.ts';
import { type KnownRun, refusalOf } from '../../../runs/index.ts';
import { readAsked } from '../jobs/asked.ts';
import { type NestedUsage, runUsage } from '../jobs/nested-usage.ts';
import type { ToldDetails } from '../jobs/told.ts';
import type { StartedRun } from './aliases.ts';
import { start, take, validate } from './begin.ts';
import type { Team, TeamCall, TeamReply } from './call.ts';
import { cancel, cleanup, message } from './change.ts';
import { events, list, reattach, show, status, stepResult, wait } from './look.ts';
import { TEAM_ACTIONS, type TeamAction } from './parameters.ts';
import { runEndKey } from './run-teller.ts';
import { schedule } from './schedule.ts';

/** Of an answer. */
const MOST_CHARACTERS = 40_000;

interface TeamDetails extends ToldDetails {
  readonly started?: StartedRun;
}

/** @throws Error whose message is the refusal, in JSON */
export async function answer(
  team: Team,
  parameters: unknown,
  signal: AbortSignal | undefined,
): Promise<ToolResult> {
  try {
    const call = { ...team, asked: readAsked(parameters, TEAM_ACTIONS), signal };
    return await resultOf(await ACTIONS[call.asked.action](call), call);
  } catch (error) {
    signal?.throwIfAborted();
    throw new Error(jsonText(refusalOf(error)).slice(0, MOST_CHARACTERS), { cause: error });
  }
}

const ACTIONS: Record<TeamAction, (call: TeamCall) => Promise<TeamReply>> = {
  start,
  validate,
  list,
  show,
  status,
  wait,
  message,
  cancel,
  cleanup,
  reattach,
  'take-ownership': take,
  'step-result': stepResult,
  events,
  schedule,
};

/** Whose end is told here is not told again, and what its jobs have used counts once. */
async function resultOf(reply: TeamReply, call: TeamCall): Promise<ToolResult> {
  const { facts, command, started, run, tellsState = false } = reply;
  const isMine = run !== undefined && isOwnRun(run, call);
  const isEnded = isMine && tellsState && run.state.terminal;
  if (isEnded) call.teller.wasTold(run);
  const { usage, charged }: NestedUsage = isMine
    ? await runUsage(call.jobs, call.told, run.id)
    : { usage: undefined, charged: {} };
  const details: TeamDetails = {
    told: isEnded ? [runEndKey(run)] : [],
    charged,
    ...(started === undefined ? {} : { started }),
  };
  const text = bounded({ ok: true, ...facts }, command);
  return { content: [{ type: 'text', text }], details, ...(usage === undefined ? {} : { usage }) };
}

function isOwnRun({ manifest }: KnownRun, { here }: TeamCall): boolean {
  return here.caller.session !== null && manifest.ownerSessionId === here.caller.session;
}

/** Still a document where it is too long: its beginning, and the command that says all of it. */
function bounded(facts: object, command: string): string {
  const text = jsonText(facts);
  if (text.length <= MOST_CHARACTERS) return text;
  const cut = (beginning: string): string =>
    jsonText({ ok: true, cut: true, characters: text.length, all: command, beginning });
  // In a string some characters take two places, or six.
  let length = MOST_CHARACTERS - cut('').length;
  let shorter = cut(text.slice(0, length));
  while (shorter.length > MOST_CHARACTERS) {
    length = Math.floor(length * 0.8);
    shorter = cut(text.slice(0, length));
  }
  return shorter;
}
