/** Where jobs are tried. */
import { openRoomWorld, type RoomFindings, type RoomWorld, roomInspection } from '../room-world.ts';

/** What a try must not have done, by kind. */
export const JOB_KINDS = ['untrue', 'processes', 'sockets', 'left over', 'outside'] as const;
type Kind = (typeof JOB_KINDS)[number];
export type Findings = RoomFindings<Kind>;
export type JobsWorld = RoomWorld<Kind>;

export function openJobsWorld(): JobsWorld {
  return openRoomWorld('job-faults-');
}

export const JOB_INSPECTION = roomInspection(JOB_KINDS);
