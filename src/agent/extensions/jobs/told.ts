/**
 * Which ends of jobs a Session was told of already, and what it was charged for them (J12). It is all in the Session's own
 * entries: so nothing is told twice, whatever was killed between telling and writing that down.
 */
import { type JobView, NO_USAGE, parseUsage, type Usage, type WrittenUsage } from '../../../jobs/index.ts';
import type { SessionEntry } from '../../../pi/index.ts';

export const MESSAGE_TYPE = 'multi-agent-job';
export const TOOL_NAME = 'multi_agent';
/** The same for runs: what their jobs have used is charged once, whichever tool asks. */
export const RUN_MESSAGE_TYPE = 'multi-agent-run';
export const TEAM_TOOL_NAME = 'agent_team';

const MESSAGE_TYPES: readonly (string | undefined)[] = [MESSAGE_TYPE, RUN_MESSAGE_TYPE];
const TOOL_NAMES: readonly unknown[] = [TOOL_NAME, TEAM_TOOL_NAME];

/** Stands in the details of our messages and of the tool's results. */
export interface ToldDetails {
  /** One for each end of a run: see {@link endKey}. */
  readonly told?: readonly string[];
  /** What was reported as nested usage so far, by job: its directory, and when it was made. */
  readonly charged?: Readonly<Record<string, WrittenUsage>>;
}

/** The end of one run of one job: no two runs of a job begin at one moment. */
export function endKey({ directory, startedAt }: JobView): string {
  return `${directory} ${startedAt ?? ''}`;
}

export interface Told {
  /** True the first time. */
  first(key: string): boolean;
  has(key: string): boolean;
  charged(job: string): Usage;
  charge(job: string, usage: Usage): void;
}

/** @param entries of the Session, in which an earlier pi may have told something */
export function recallTold(entries: readonly SessionEntry[]): Told {
  const ends = new Set<string>();
  const charges = new Map<string, Usage>();

  for (const { type, customType, details, message } of entries) {
    if (type === 'custom_message' && MESSAGE_TYPES.includes(customType)) take(details);
    if (type === 'message' && TOOL_NAMES.includes(message?.toolName)) take(message?.details);
  }

  function take(details: unknown): void {
    if (typeof details !== 'object' || details === null) return;
    const told: unknown = Reflect.get(details, 'told');
    if (Array.isArray(told)) for (const key of told) if (typeof key === 'string') ends.add(key);
    const charged: unknown = Reflect.get(details, 'charged');
    if (typeof charged !== 'object' || charged === null) return;
    for (const [job, value] of Object.entries(charged)) {
      const usage = parseUsage(value);
      if (usage !== undefined) charges.set(job, usage);
    }
  }

  return {
    first(key) {
      if (ends.has(key)) return false;
      ends.add(key);
      return true;
    },
    has: (key) => ends.has(key),
    charged: (job) => charges.get(job) ?? NO_USAGE,
    charge: (job, usage) => void charges.set(job, usage),
  };
}
