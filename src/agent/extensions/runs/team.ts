/** The runs of one open Session: a file apart, loaded when there are runs, or the tool is first called (R4). */
import type { ExtensionApi, SessionEntry } from '../../../pi/index.ts';
import { runContextOf } from '../../runs/context.ts';
import type { JobsHere } from '../jobs/here.ts';
import type { Told } from '../jobs/told.ts';
import { recallAliases } from './aliases.ts';
import type { Team } from './call.ts';
import { openRunTeller } from './run-teller.ts';

export { answer } from './tool.ts';

export interface TeamNeeds {
  readonly pi: Pick<ExtensionApi, 'sendMessage'>;
  readonly jobs: JobsHere;
  readonly told: Told;
  readonly warn: (text: string) => void;
  readonly wakes: boolean;
  /** Of the Session, as it is now. */
  readonly entries: readonly SessionEntry[];
}

export function openTeam({ pi, jobs, told, warn, wakes, entries }: TeamNeeds): Team {
  const here = runContextOf(jobs);
  const aliases = recallAliases(entries);
  return { here, jobs, told, aliases, teller: openRunTeller({ pi, here, aliases, told, warn, wakes }) };
}
