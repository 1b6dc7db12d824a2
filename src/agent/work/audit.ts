/** The part of `pi-work doctor` that looks at the agent directory (W12). */
import { type AgentDir, type AuditEntry, auditAgentDir, openAgentDir } from '../../agent-dir/index.ts';
import { messageOf } from '../../lib/errors.ts';
import { bytes, duration } from '../../lib/table.ts';
import { agentPlaces } from './agent-places.ts';

export interface PlaceAudit {
  readonly where: string;
  readonly path: string;
  readonly entries: readonly AuditEntry[];
  readonly omitted: number;
  readonly cut: boolean;
  /** Why it could not be looked at. */
  readonly problem: string | undefined;
}

/** Each agent directory that there is; nothing is changed. */
export function auditPlaces(agentDir: AgentDir): PlaceAudit[] {
  return agentPlaces(agentDir).flatMap(({ where, path, skipLinks }): PlaceAudit[] => {
    const place = { where, path };
    try {
      const top = openAgentDir(path);
      if (top === undefined) return [];
      try {
        return [{ ...place, ...auditAgentDir(top, { skipLinks }), problem: undefined }];
      } finally {
        top.close();
      }
    } catch (error) {
      return [{ ...place, entries: [], omitted: 0, cut: false, problem: messageOf(error) }];
    }
  });
}

/** One row for each thing that does not belong there: the place, and what it is. */
export function auditRows({ where, entries, omitted, cut, problem }: PlaceAudit): [string, string][] {
  const rows = entries.map(({ name, kind, bytes: size, atLeast, ageMs, migrates }): [string, string] => {
    const facts = `${atLeast ? 'at least ' : ''}${bytes(size)}, ${duration(ageMs)} old`;
    const named = kind === 'directory' ? `${name}/` : name;
    return [where, `${named}: ${facts}${migrates ? '; pi-work migrate moves it' : ''}`];
  });
  if (omitted > 0) rows.push([where, `… and ${omitted} more`]);
  if (cut) rows.push([where, 'too many entries to look at all']);
  if (problem !== undefined) rows.push([where, problem]);
  return rows;
}
