/** Tells a Session of the ends of its runs (R4), and finds those that a shell of it has started. */
import { statSync } from 'node:fs';
import { PiSandboxError } from '../../../lib/errors.ts';
import { safeForTerminal } from '../../../lib/redact.ts';
import { duration } from '../../../lib/table.ts';
import {
  type KnownRun,
  RunError,
  type RunId,
  readKnownRun,
  runDirectory,
  runIds,
  waitForRun,
} from '../../../runs/index.ts';
import type { RunContext } from '../../runs/context.ts';
import { RUN_MESSAGE_TYPE } from '../jobs/told.ts';
import { openTelling, type Telling, type TellingNeeds } from '../telling.ts';
import type { Aliases } from './aliases.ts';

/** The newest of a project are looked through for those of this Session. */
const MOST_LOOKED_AT = 200;
const MOST_STEPS = 40;
const REASON_CHARACTERS = 200;

export interface RunTeller extends Telling<KnownRun> {
  /** Looks for runs that a shell of this Session has started. Costs one look at a directory where there are no new ones. */
  look(): Promise<void>;
}

export interface RunTellerNeeds extends TellingNeeds {
  readonly here: RunContext;
  readonly aliases: Aliases;
}

/** One for the end of a run, and one for each time that nobody runs it any more. */
export function runEndKey({ id, state }: KnownRun): string {
  return state.terminal ? `run ${id}` : `run ${id} orphan ${state.updatedAt}`;
}

export function openRunTeller({ here, aliases, ...needs }: RunTellerNeeds): RunTeller {
  const { place, caller, deps } = here;
  const telling = openTelling<KnownRun>(
    {
      messageType: RUN_MESSAGE_TYPE,
      what: 'a run',
      async end(directory, signal) {
        try {
          return (await waitForRun(place, directory, { clock: deps.clock, signal })).run;
        } catch (error) {
          if (signal.aborted || isGone(error)) return undefined;
          throw error;
        }
      },
      key: runEndKey,
      text: async (run) => endText(run, aliases.of(run.id)),
      // Only the Session's own entries tell.
      isNoted: () => false,
      note: async () => undefined,
    },
    needs,
  );
  const known = new Set<string>();
  let seenAt: number | undefined;

  async function meet(id: RunId): Promise<void> {
    try {
      const { manifest, directory } = await readKnownRun(runDirectory(place, id));
      if (caller.session !== null && manifest.ownerSessionId === caller.session) telling.follow(directory);
    } catch (error) {
      // What cannot be read is for the list to show.
      if (!(error instanceof PiSandboxError)) throw error;
    }
  }

  return {
    ...telling,
    async look() {
      const changedAt = statSync(place.root, { throwIfNoEntry: false })?.mtimeMs;
      if (changedAt === undefined || changedAt === seenAt) return;
      seenAt = changedAt;
      const news = runIds(place).filter((id) => !known.has(id));
      for (const id of news.slice(0, MOST_LOOKED_AT)) await meet(id);
      for (const id of news) known.add(id);
    },
  };
}

function isGone(error: unknown): boolean {
  return error instanceof RunError && error.code === 'not-found';
}

/** Short: what each step came to, and where more is. */
function endText({ id, manifest, state }: KnownRun, alias: string | undefined): string {
  const name = alias === undefined ? id : `${alias} (${id})`;
  const took = duration(Date.parse(state.updatedAt) - Date.parse(manifest.createdAt));
  const head = state.terminal
    ? `Run ${name}: ${state.status}, after ${took}${because(state.reason)}.`
    : `Run ${name} has no owner any more: its steps go on, and nothing new begins. agent_team take-ownership with continue goes on with it.`;
  const steps = manifest.graph.steps.map((step) => {
    const found = state.steps[step.id];
    return `- ${step.id}: ${found?.status ?? 'unknown'}${because(found?.reason ?? null)}`;
  });
  const more = steps.length - MOST_STEPS;
  const listed = more > 0 ? [...steps.slice(0, MOST_STEPS), `- and ${more} more steps`] : steps;
  return [head, ...listed, `agent_team step-result has what a step has left.`].join('\n');
}

function because(reason: string | null): string {
  return reason === null ? '' : ` (${safeForTerminal(reason.slice(0, REASON_CHARACTERS))})`;
}
