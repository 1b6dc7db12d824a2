/** What the tool reads of runs (R4, R8): all with a bound. */
import { readBeginning } from '../../../lib/bounded-read.ts';
import {
  diffArtifact,
  isStepId,
  LIMITS,
  listRuns,
  outputArtifact,
  RUN_STATUSES,
  RunError,
  type RunEvent,
  readEvents,
  reattachRun,
  STRANGE_STATUSES,
  stepIn,
  waitForRun,
} from '../../../runs/index.ts';
import { scheduleRows } from '../../runs/schedule-json.ts';
import type { TeamCall, TeamReply } from './call.ts';
import { knownRunAsked, runAsked, told } from './named.ts';

const USUAL_ROWS = 20;
const USUAL_EVENTS = 100;
const MOST_EVENTS = 1_000;
/** A wait that was given no time ends after this: the model then decides anew. */
const USUAL_WAIT_SECONDS = 600;
/** Of a result at a time: the rest of an answer needs room too. */
const RESULT_CHARACTERS = 30_000;

export async function list({ here, aliases, asked }: TeamCall): Promise<TeamReply> {
  const { place, caller, jobs } = here;
  const project = asked.flag('all_projects') ? undefined : jobs.project;
  const { runs, next } = await listRuns(place, {
    caller,
    project: project?.real,
    status: statusesAsked(asked.value('status')),
    limit: Math.max(1, Math.floor(asked.number('limit') ?? USUAL_ROWS)),
    cursor: asked.text('cursor'),
  });
  const rows = runs.map((row) => ({ alias: aliases.of(row.runId) ?? null, ...row }));
  const scheduledRuns = await scheduleRows(place, project);
  return { facts: { runs: rows, next, scheduledRuns }, command: 'multi-agent runs list --json' };
}

const STATUSES = [...RUN_STATUSES, ...STRANGE_STATUSES];

function statusesAsked(given: unknown): (typeof STATUSES)[number][] | undefined {
  if (!Array.isArray(given) || given.length === 0) return undefined;
  return given.map((word) => {
    const known = STATUSES.find((status) => status === word);
    if (known !== undefined) return known;
    throw new RunError('usage', `"${String(word).slice(0, 100)}" is no status of a run`, {
      hint: STATUSES.join(' '),
    });
  });
}

export async function status(call: TeamCall): Promise<TeamReply> {
  return told(call, await knownRunAsked(call));
}

/** With the graph that it was started with. */
export async function show(call: TeamCall): Promise<TeamReply> {
  const run = await knownRunAsked(call);
  return told(call, run, { graph: run.manifest.graph });
}

export async function wait(call: TeamCall): Promise<TeamReply> {
  const { here, teller, asked, signal } = call;
  const directory = await runAsked(call);
  const giveBack = teller.leaveToTool([directory]);
  try {
    const { run, timedOut } = await waitForRun(here.place, directory, {
      clock: here.deps.clock,
      timeoutMs: (asked.number('timeout') ?? USUAL_WAIT_SECONDS) * 1_000,
      signal,
    });
    return told(call, run, { timedOut });
  } finally {
    giveBack();
    teller.follow(directory);
  }
}

export async function reattach(call: TeamCall): Promise<TeamReply> {
  const { run, ...snapshot } = await reattachRun(await runAsked(call));
  return { facts: snapshot, run, tellsState: true, command: `multi-agent runs reattach ${run.id} --json` };
}

export async function stepResult(call: TeamCall): Promise<TeamReply> {
  const { asked } = call;
  const run = await knownRunAsked(call);
  const step = asked.needed('step');
  const found = stepIn(run.state, step);
  if (found === undefined || !isStepId(step))
    throw new RunError('not-found', `run ${run.id} has no step ${JSON.stringify(step.slice(0, 100))}`, {
      hint: `its steps: ${run.manifest.graph.steps.map(({ id }) => id).join(' ')}`.slice(0, 1_000),
    });
  const isDiff = asked.flag('diff');
  const path = (isDiff ? diffArtifact : outputArtifact)(run.directory, step);
  const file = await readBeginning(path, LIMITS.outputBytes);
  if (file === undefined)
    throw new RunError(
      'not-found',
      `step "${step}" is ${found.status} and has no ${isDiff ? 'diff' : 'result'}`,
      {
        details: { step, status: found.status, reason: found.reason },
      },
    );
  const text = file.bytes.toString('utf8');
  const from = Math.floor(asked.number('from') ?? 0);
  const end = from + RESULT_CHARACTERS;
  return {
    facts: {
      runId: run.id,
      step,
      status: found.status,
      reason: found.reason,
      path,
      [isDiff ? 'diff' : 'output']: text.slice(from, end),
      characters: text.length,
      // To be given as `from`.
      next: end < text.length ? end : null,
    },
    run,
    command: `multi-agent runs step-result ${run.id} ${step}`,
  };
}

export async function events(call: TeamCall): Promise<TeamReply> {
  const { asked } = call;
  const directory = await runAsked(call);
  const most = Math.min(Math.max(1, asked.number('limit') ?? USUAL_EVENTS), MOST_EVENTS);
  const found: RunEvent[] = [];
  let more = false;
  let problems = 0;
  for await (const line of readEvents(directory, asked.number('from') ?? 0)) {
    more = found.length >= most;
    if (more) break;
    if (line.kind === 'event') found.push(line.event);
    else problems++;
  }
  const facts = { events: found, next: found.at(-1)?.seq ?? asked.number('from') ?? 0, more, problems };
  return { facts, command: `multi-agent runs events ${asked.needed('run')} --json` };
}
