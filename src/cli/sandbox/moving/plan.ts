/** What an import would do, worked out from the source and the configuration alone: no engine is asked (S15). */
import { type SessionSource, type SessionSurvey, surveySessions } from '../../../history/index.ts';
import type { DomainTable } from '../../../wire/index.ts';
import { type Config, type DomainId, legacyTable } from '../../config/index.ts';
import type { LeftFile } from './config-files.ts';
import { configOf, type FoundConfig, othersIn, type PlainPi, sessionSources } from './plain-pi.ts';
import { DOMAIN_SIGN_IN, type FoundSignIns, signInsOf } from './sign-in-files.ts';

const DAY_MS = 86_400_000;

export interface Chosen {
  readonly history: boolean;
  readonly login: boolean;
  readonly config: boolean;
}

export interface ImportPlan {
  readonly from: string;
  readonly history?: {
    readonly sources: readonly SessionSource[];
    readonly table: DomainTable;
    readonly survey: SessionSurvey;
  };
  readonly login?: FoundSignIns & {
    /** Of the MCP sign-ins; undefined when it is not known whose they are. */
    readonly domain: DomainId | undefined;
  };
  readonly config?: FoundConfig;
  /** What stays behind, and why. */
  readonly left: readonly LeftFile[];
}

/** Nothing of it would be copied. */
export function isEmpty({ history, login, config }: ImportPlan): boolean {
  const counts = [
    history?.survey.domains.size,
    Object.keys(login?.content ?? {}).length,
    config?.files.length,
  ];
  return counts.every((count = 0) => count === 0);
}

/** Nothing chosen is everything. */
export function chosen(options: Partial<Record<keyof Chosen, boolean>>): Chosen {
  const { history = false, login = false, config = false } = options;
  const all = !history && !login && !config;
  return { history: history || all, login: login || all, config: config || all };
}

export interface PlanOptions {
  readonly config: Config;
  readonly wanted: Chosen;
  /** `--domain`: only this domain's history and sign-ins. */
  readonly domain: DomainId | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  /** The directory was named. */
  readonly given: boolean;
  readonly now: number;
}

/** @throws FileError */
export function planImport(pi: PlainPi, options: PlanOptions): ImportPlan {
  const { config, wanted, domain } = options;
  const found = configOf(pi);
  const left: LeftFile[] = othersIn(pi).map((file) => ({ file, reason: 'it is not taken over' }));
  let plan: ImportPlan = { from: pi.path, left };
  if (wanted.history) {
    const { sources, left: unreadable } = sessionSources(pi, found.sessionDir, options);
    left.push(...unreadable);
    const table = legacyTable(config);
    plan = { ...plan, history: { sources, table, survey: survey(sources, table, options) } };
  }
  if (wanted.login) {
    const signIns = signInsOf(pi.directory, pi.path);
    const only = config.domains.length === 1 ? config.domains[0]?.id : undefined;
    const owner = domain ?? only;
    left.push(...signIns.left);
    if (owner === undefined && signIns.content[DOMAIN_SIGN_IN] !== undefined) {
      delete signIns.content[DOMAIN_SIGN_IN];
      left.push({ file: DOMAIN_SIGN_IN, reason: 'it belongs to one domain: --domain says to which' });
    }
    plan = { ...plan, login: { ...signIns, domain: owner } };
  }
  if (wanted.config) {
    left.push(...found.left);
    plan = { ...plan, config: found };
  }
  return plan;
}

function survey(
  sources: readonly SessionSource[],
  table: DomainTable,
  { config, domain, now }: PlanOptions,
): SessionSurvey {
  const all = surveySessions(sources, {
    table,
    oldestKept(id) {
      const days = config.domains.find((each) => each.id === id)?.sessionsRetentionDays ?? 0;
      return days === 0 ? undefined : now - days * DAY_MS;
    },
  });
  if (domain !== undefined) for (const id of all.domains.keys()) if (id !== domain) all.domains.delete(id);
  return all;
}
