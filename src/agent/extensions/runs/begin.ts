/** `start`, `validate` and `take-ownership` of the tool (R4, R6, R7). */
import { LimitError } from '../../../lib/errors.ts';
import {
  type Graph,
  LIMITS,
  launchOwner,
  type Manifest,
  RunError,
  takeOwnership,
} from '../../../runs/index.ts';
import { type BeginOptions, beginRun } from '../../runs/begin.ts';
import { graphIn, graphInText, readGraph } from '../../runs/graph-file.ts';
import { ownerProgramHere } from '../../runs/owner-deps.ts';
import type { TeamCall, TeamReply } from './call.ts';
import { runAsked } from './named.ts';

export async function start(call: TeamCall): Promise<TeamReply> {
  const { here, teller, aliases } = call;
  const held = await beginRun(here, await graphAsked(call), settingsAsked(call));
  const { runId, graph } = held.manifest;
  teller.follow(held.directory);
  const started = aliases.add(runId);
  return {
    facts: { ...started, steps: graph.steps.length, note: 'You will be told when it ends.' },
    command: `multi-agent runs status ${runId}`,
    started,
  };
}

export async function validate(call: TeamCall): Promise<TeamReply> {
  const { objective, steps } = await graphAsked(call);
  return { facts: { objective, steps }, command: 'multi-agent runs validate' };
}

export async function take(call: TeamCall): Promise<TeamReply> {
  const { here, teller, aliases, asked } = call;
  const { place, caller, deps, jobs } = here;
  const directory = await runAsked(call);
  const goOn = asked.flag('continue');
  const options = { force: asked.flag('force'), goOn, ...retryAsked(call) };
  const held = await takeOwnership(place, directory, caller, { ...deps, ...options });
  const { runId } = held.manifest;
  if (goOn) {
    await launchOwner(held, { env: jobs.env, owner: ownerProgramHere() });
    teller.follow(directory);
  } else held.lock.release();
  const known = aliases.of(runId);
  const started = known === undefined ? aliases.add(runId) : { alias: known, runId };
  const note = goOn ? 'You will be told when it ends.' : 'Nobody runs it yet: continue makes it go on.';
  return {
    facts: { ...started, continued: goOn, note },
    command: `multi-agent runs status ${runId}`,
    started,
  };
}

/** @throws InvalidGraphError with every objection; LimitError, UsageError, FileError */
export async function graphAsked({ asked }: TeamCall): Promise<Graph> {
  const given = asked.value('graph');
  const most = asked.number('max_steps');
  const maxSteps = most === undefined ? undefined : Math.min(most, LIMITS.mostSteps);
  if (typeof given !== 'string') {
    const bytes = Buffer.byteLength(JSON.stringify(given ?? null));
    if (bytes > LIMITS.graphBytes)
      throw new LimitError(`the graph has ${bytes} bytes, ${LIMITS.graphBytes} is the most`);
    return graphIn('graph', given, maxSteps);
  }
  // A path is one line, and no object.
  if (!given.includes('\n') && !given.trimStart().startsWith('{')) return readGraph(given, maxSteps);
  if (Buffer.byteLength(given) > LIMITS.graphBytes)
    throw new LimitError(`the graph is longer than ${LIMITS.graphBytes} bytes`);
  return graphInText('graph', given, maxSteps);
}

/** @throws RunError `limit` */
export function settingsAsked(call: TeamCall): BeginOptions {
  const { asked } = call;
  const cwd = asked.text('cwd');
  return {
    ...retryAsked(call),
    ...(cwd === undefined ? {} : { cwd }),
    ...numberAsked(call, 'concurrency', 'concurrency', LIMITS.mostConcurrency),
    ...numberAsked(call, 'timeout', 'timeout', LIMITS.runSeconds),
    ...numberAsked(call, 'max_cost', 'maxCost', Number.MAX_SAFE_INTEGER),
  };
}

function retryAsked({ asked }: TeamCall): { retry?: Manifest['retry'] } {
  const retry = asked.text('retry');
  return retry === 'died' || retry === 'none' ? { retry } : {};
}

function numberAsked(
  { asked }: TeamCall,
  name: string,
  setting: 'concurrency' | 'timeout' | 'maxCost',
  most: number,
): BeginOptions {
  const given = asked.number(name);
  if (given === undefined) return {};
  if (given > 0 && given <= most) return { [setting]: given };
  throw new RunError('limit', `${name} is ${given}: more than 0 and at most ${most} is possible`);
}
