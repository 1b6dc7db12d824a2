/**
 * A Session that the user switches to may have expired while he looked at the list of them: the start of another terminal has
 * moved it to the trash, and pi would begin an empty one in its place (S11).
 */
import { existsSync } from 'node:fs';
import {
  type BroughtBack,
  bringBackFromTrash,
  readSessionFileId,
  type SessionTarget,
} from '../../../pi/index.ts';

export interface BackInTime {
  readonly target: SessionTarget;
  readonly trash: Extract<BroughtBack, { outcome: 'restored' }>;
}

/** Brings it back before pi looks for it. Undefined when it is there, or was never in the trash. */
export function bringBackChosen(file: string): BackInTime | undefined {
  if (existsSync(file)) return undefined;
  const trash = bringBackFromTrash(file, undefined);
  if (trash.outcome !== 'restored') return undefined;
  return { target: { id: readSessionFileId(file) ?? file, file }, trash };
}
