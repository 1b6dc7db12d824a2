/** Where agent directories are tried. */
import { openRoomWorld, type RoomFindings, type RoomWorld, roomInspection } from '../room-world.ts';

/** What a try must not have done, by kind. */
export const AGENT_DIR_KINDS = ['twice', 'moved wrongly', 'left over'] as const;
type Kind = (typeof AGENT_DIR_KINDS)[number];
export type Findings = RoomFindings<Kind>;
export type AgentDirWorld = RoomWorld<Kind>;

export function openAgentDirWorld(): AgentDirWorld {
  return openRoomWorld('agent-dir-faults-');
}

export const AGENT_DIR_INSPECTION = roomInspection(AGENT_DIR_KINDS);
