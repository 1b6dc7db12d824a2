/** Where runs are tried. */
import { openRoomWorld, type RoomFindings, type RoomWorld, roomInspection } from '../room-world.ts';

/** What a try must not have done, by kind. */
export const RUN_KINDS = ['untrue', 'done twice', 'processes', 'left over'] as const;
type Kind = (typeof RUN_KINDS)[number];
export type Findings = RoomFindings<Kind>;
export type RunsWorld = RoomWorld<Kind>;

export function openRunsWorld(): RunsWorld {
  return openRoomWorld('run-faults-');
}

export const RUN_INSPECTION = roomInspection(RUN_KINDS);
