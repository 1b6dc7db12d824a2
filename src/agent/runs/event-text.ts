import { safeForTerminal } from '../../lib/redact.ts';
import type { RunEvent } from '../../runs/index.ts';

/** One event in one line. */
export function eventText(event: RunEvent): string {
  return safeForTerminal(`${event.seq}  ${event.at}  ${whatHappened(event)}`);
}

function whatHappened(event: RunEvent): string {
  switch (event.type) {
    case 'run':
      return `run ${event.status}${because(event.reason)}`;
    case 'step': {
      const again = event.attempt > 1 ? ` (attempt ${event.attempt})` : '';
      return `step ${event.step} ${event.status}${again}${because(event.reason)}`;
    }
    case 'attached':
      return `step ${event.step}: its job went on without an owner, and is followed again`;
    case 'message':
      return `step ${event.step}: ${event.from} says, ${event.receipt}: ${event.text}`;
    case 'owner': {
      const who = event.session === null ? 'no session' : `session ${event.session}`;
      return `owner: ${who}, process ${event.pid} on ${event.container}`;
    }
    case 'worktree':
      return `step ${event.step}: worktree ${event.path}${event.cleanedUp ? ' has gone' : ''}`;
    case 'budget':
      return `budget: ${event.text}`;
    case 'problem':
      return `problem: ${event.text}`;
  }
}

function because(reason: string | null): string {
  return reason === null ? '' : `: ${reason}`;
}
