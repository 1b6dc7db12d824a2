/** `message`, `cancel` and `cleanup` of the tool (R5, R6): whether this Session may is the run's owner's to decide. */
import { cancelRun, cleanupRun, messageRun, readKnownRun } from '../../../runs/index.ts';
import { ownerDeps } from '../../runs/owner-deps.ts';
import type { TeamCall, TeamReply } from './call.ts';
import { runAsked, told } from './named.ts';

export async function message(call: TeamCall): Promise<TeamReply> {
  const { here, asked } = call;
  const directory = await runAsked(call);
  const [step, text] = [asked.needed('step'), asked.needed('text')];
  const receipt = await messageRun(here.place, directory, { step, text, ...by(call) }, ownerDeps(here));
  return { facts: { step, receipt }, command: `multi-agent runs events ${asked.needed('run')}` };
}

export async function cancel(call: TeamCall): Promise<TeamReply> {
  const { here, asked } = call;
  const directory = await runAsked(call);
  await cancelRun(here.place, directory, { step: asked.text('step'), ...by(call) }, ownerDeps(here));
  return told(call, await readKnownRun(directory));
}

export async function cleanup(call: TeamCall): Promise<TeamReply> {
  const { here, asked } = call;
  const directory = await runAsked(call);
  const options = { ...by(call), worktreesOnly: asked.flag('worktrees_only') };
  const facts = await cleanupRun(here.place, directory, options, ownerDeps(here));
  return { facts, command: 'multi-agent runs list' };
}

function by({ here, asked }: TeamCall) {
  return { caller: here.caller, force: asked.flag('force') };
}
