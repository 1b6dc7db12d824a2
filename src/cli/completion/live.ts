import { safeForTerminal } from '../../lib/redact.ts';
import { only } from '../commands/sessions/lines.ts';
import { openConfiguration } from '../context.ts';
import { listSandboxes } from '../sandbox/find-sandboxes.ts';
import { domainHistories } from '../sandbox/history-domains.ts';
import { askHistories } from '../sandbox/history-program.ts';
import { planImage } from '../sandbox/image.ts';
import type { Candidate, Wanted } from './wanted.ts';

/** Listed at most; whoever has more types a letter first (rule 7). */
const MAX_CANDIDATES = 500;

/** Looks the names up that exist now. Whoever calls bounds the time. */
export async function liveCandidates(live: NonNullable<Wanted['live']>): Promise<Candidate[]> {
  const { config, openDefault } = await openConfiguration({});
  if (live === 'domains') return config.domains.map(({ id }) => ({ value: id }));
  const engine = await openDefault();
  try {
    if (live === 'sessions') {
      const scene = { engine, config, image: () => planImage(config.INSTALLATION_PREFIX, config).name };
      const request = {
        verb: 'list',
        retention: { days: 0, trashDays: 0 },
        sessions: true,
        trash: false,
      } as const;
      const answers = await askHistories(scene, await domainHistories(engine, config), () => request);
      const sessions = answers.flatMap(({ lines }) => only(lines, 'session'));
      sessions.sort((a, b) => b.lastChange.localeCompare(a.lastChange));
      return sessions.flatMap(({ id, name, cwd }) => (id ? [describe(id, name ?? cwd ?? '')] : []));
    }
    const sandboxes = await listSandboxes(engine, config.INSTALLATION_PREFIX);
    const end = live === 'sandbox-paths' ? ':' : '';
    return sandboxes.map(({ alias, project, domain }) =>
      describe(`${alias ?? project}${end}`, `in ${domain}`),
    );
  } finally {
    engine.close();
  }
}

function describe(value: string, description: string): Candidate {
  return { value, description: safeForTerminal(description) };
}

/** The lines that a shell's script reads: candidates with their description, then what paths count. */
export function completionLines(
  candidates: readonly Candidate[],
  current: string,
  paths: Wanted['paths'],
): string {
  const lines = candidates
    // A line break or tab would be two candidates; nothing of ours has one, but a name from outside might.
    .filter(({ value }) => value.startsWith(current) && !/\p{Cc}/u.test(value))
    .slice(0, MAX_CANDIDATES)
    .map(({ value, description }) => (description ? `${value}\t${description}` : value));
  return `${[...lines, `:${paths ?? 'none'}`].join('\n')}\n`;
}
