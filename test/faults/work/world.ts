/** Where work roots are tried. */
import { openRoomWorld, type RoomFindings, type RoomWorld, roomInspection } from '../room-world.ts';

/** What a try must not have done, by kind. */
export const WORK_KINDS = ['kept', 'left over', 'outside', 'unlogged'] as const;
type Kind = (typeof WORK_KINDS)[number];
export type Findings = RoomFindings<Kind>;
export type WorkWorld = RoomWorld<Kind>;

export function openWorkWorld(): WorkWorld {
  return openRoomWorld('work-faults-');
}

export const WORK_INSPECTION = roomInspection(WORK_KINDS);
