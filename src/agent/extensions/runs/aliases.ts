/** `r1`, `r2`: runs by the order in which this Session has started them (R2). They stand in its own entries, and nowhere else. */
import type { SessionEntry } from '../../../pi/index.ts';
import { RunError } from '../../../runs/index.ts';
import { TEAM_TOOL_NAME } from '../jobs/told.ts';

const ALIAS = /^r([1-9]\d{0,5})$/;

/** In the details of a result that tells of a start. */
export interface StartedRun {
  readonly alias: string;
  readonly runId: string;
}

export interface Aliases {
  /** For a new run. */
  add(runId: string): StartedRun;
  of(runId: string): string | undefined;
  /** The run's id, or what was given where that is no alias. @throws RunError `not-found` */
  resolve(given: string): string;
  /** All of them, the oldest first. */
  readonly runIds: readonly string[];
}

/** @param entries of the Session, in which an earlier pi may have started some */
export function recallAliases(entries: readonly SessionEntry[]): Aliases {
  const runs = new Map<string, string>();
  for (const { type, message } of entries) {
    if (type !== 'message' || message?.toolName !== TEAM_TOOL_NAME) continue;
    const started = startedIn(message.details);
    if (started !== undefined) runs.set(started.alias, started.runId);
  }
  let last = Math.max(0, ...[...runs.keys()].map((alias) => Number(alias.slice(1))));
  return {
    add(runId) {
      const alias = `r${++last}`;
      runs.set(alias, runId);
      return { alias, runId };
    },
    of: (runId) => [...runs].find(([, id]) => id === runId)?.[0],
    resolve(given) {
      if (!ALIAS.test(given)) return given;
      const runId = runs.get(given);
      if (runId !== undefined) return runId;
      throw new RunError('not-found', `this Session has started no run ${given}`, {
        hint: 'list shows the runs of this project by their ids',
      });
    },
    get runIds() {
      return [...runs.values()];
    },
  };
}

function startedIn(details: unknown): StartedRun | undefined {
  if (typeof details !== 'object' || details === null) return undefined;
  const started: unknown = Reflect.get(details, 'started');
  if (typeof started !== 'object' || started === null) return undefined;
  const [alias, runId]: unknown[] = [Reflect.get(started, 'alias'), Reflect.get(started, 'runId')];
  if (typeof alias !== 'string' || typeof runId !== 'string' || !ALIAS.test(alias)) return undefined;
  return { alias, runId };
}
