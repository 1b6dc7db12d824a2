/**
 * Loaded into every pi of a sandbox: the model starts and steers background agents with the tool `multi_agent` and graphs of
 * them with `agent_team`, the user watches them with `/jobs`, and the Session is told when one has ended (J12, R4). No part of it
 * may break pi.
 */
import { existsSync } from 'node:fs';
import { jobsPlace } from '../../jobs/index.ts';
import { systemClock } from '../../lib/clock.ts';
import type { ExtensionApi, ExtensionContext, ToolResult } from '../../pi/index.ts';
import { runsPlace } from '../../runs/index.ts';
import type { JobsCall } from './jobs/call.ts';
import { MULTI_AGENT_PARAMETERS } from './jobs/parameters.ts';
import { TEAM_TOOL_NAME } from './jobs/told.ts';
import { makeVoice } from './lock/voice.ts';
import type { Team } from './runs/call.ts';
import { AGENT_TEAM_PARAMETERS } from './runs/parameters.ts';

export default function multiAgent(pi: ExtensionApi): void {
  const voice = makeVoice();
  let session: Promise<SessionJobs> | undefined;

  /** Opened when it is first needed: most Sessions start no job, and a start of pi must not wait for it. */
  function jobsOf(context: ExtensionContext): Promise<SessionJobs> {
    if (session !== undefined) return session;
    const opening = open(pi, context, voice.warn).catch((error: unknown) => {
      // The next one who asks tries again, unless another Session is open by then.
      if (session === opening) session = undefined;
      throw error;
    });
    session = opening;
    return opening;
  }

  /** The same for its runs. */
  async function teamOf(context: ExtensionContext): Promise<OpenTeam> {
    const opened = await jobsOf(context);
    opened.team ??= import('./runs/team.ts').then((room) => {
      const { here: jobs, teller, wakes } = opened;
      const entries = context.sessionManager.getEntries();
      return { room, team: room.openTeam({ pi, jobs, told: teller.told, warn: voice.warn, wakes, entries }) };
    });
    return opened.team;
  }

  /** For jobs and runs that a shell of this Session has started, or that have ended while it was closed. */
  function lookAfter(context: ExtensionContext): void {
    if (someJobsExist(process.env))
      void voice.guarded('Looking after background jobs', async () => (await jobsOf(context)).teller.look());
    if (someRunsExist(process.env))
      void voice.guarded('Looking after runs', async () => (await teamOf(context)).team.teller.look());
  }

  pi.registerTool({
    name: 'multi_agent',
    label: 'Agents',
    description:
      'Starts other agents as named background jobs, watches, steers, ends and resumes them. An agent knows only its prompt; its last message is its result, and you are told when it ends.',
    promptSnippet: 'Start and direct background agents',
    parameters: MULTI_AGENT_PARAMETERS,
    async execute(_id, parameters, signal, _onUpdate, context) {
      return callTool({ ...(await jobsOf(context)), parameters, signal });
    },
  });

  pi.registerTool({
    name: TEAM_TOOL_NAME,
    label: 'Team',
    description:
      'Runs a graph of agents toward an objective: each step is an agent of its own that begins when the steps it needs have succeeded. A run outlives this Session, can be looked at, steered, canceled and taken up again, and you are told when it ends.',
    promptSnippet: 'Run graphs of background agents',
    parameters: AGENT_TEAM_PARAMETERS,
    async execute(_id, parameters, signal, _onUpdate, context) {
      const { room, team } = await teamOf(context);
      return room.answer(team, parameters, signal);
    },
  });

  pi.registerCommand('jobs', {
    description: 'Background agents of this project: watch, peek, steer, abort',
    handler: async (_words, context) => {
      const [{ here }, { jobsCommand }] = await Promise.all([jobsOf(context), import('./jobs/command.ts')]);
      await jobsCommand(here, context);
    },
  });

  pi.on('session_start', (_event, context) => {
    voice.attach(context);
    // A Session that has said nothing yet has no jobs that it could be told of.
    if (context.sessionManager.getEntries().some(({ type }) => type === 'message')) lookAfter(context);
    return undefined;
  });
  pi.on('tool_execution_end', (event, context) => {
    if (event.toolName === 'bash') lookAfter(context);
    return undefined;
  });
  pi.on('agent_settled', (_event, { sessionManager }) => {
    const opened = session;
    if (opened === undefined) return undefined;
    const entries = sessionManager.getEntries();
    void voice.guarded('Noting what background jobs told', async () => {
      const { teller, team } = await opened;
      await teller.settled(entries);
      await (await team)?.team.teller.settled(entries);
    });
    return undefined;
  });
  pi.on('session_shutdown', () => {
    void session
      ?.then(async ({ teller, team }) => {
        teller.close();
        (await team)?.team.teller.close();
      })
      .catch(() => undefined);
    session = undefined;
    return undefined;
  });
}

/** Where nobody ever started a job, the room is never loaded. */
function someJobsExist(env: NodeJS.ProcessEnv): boolean {
  return existsSync(jobsPlace(env, env.HOME ?? '/').state);
}

/** A run is in the environment's directory of runs from its start on. */
function someRunsExist(env: NodeJS.ProcessEnv): boolean {
  return existsSync(runsPlace(env, env.HOME ?? '/').root);
}

interface OpenTeam {
  readonly room: typeof import('./runs/team.ts');
  readonly team: Team;
}

interface SessionJobs extends Pick<JobsCall, 'here' | 'teller' | 'clock'> {
  readonly wakes: boolean;
  /** When there are runs. */
  team?: Promise<OpenTeam>;
}

async function open(
  pi: ExtensionApi,
  { mode, sessionManager }: ExtensionContext,
  warn: (text: string) => void,
): Promise<SessionJobs> {
  const { openSessionJobs } = await import('./jobs/session-jobs.ts');
  const session = { id: sessionManager.getSessionId(), entries: sessionManager.getEntries() };
  const isConversation = mode === 'tui' || mode === 'rpc';
  return openSessionJobs({ pi, session, clock: systemClock, warn, isConversation });
}

/** A file of its own, loaded when the tool is first called. */
async function callTool(call: JobsCall): Promise<ToolResult> {
  const { answer } = await import('./jobs/tool.ts');
  return answer(call);
}
