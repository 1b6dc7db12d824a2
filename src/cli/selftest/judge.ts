import { safeForTerminal } from '../../lib/redact.ts';
import type { Evidence } from './evidence.ts';
import { judgeLimits } from './judge-limits.ts';
import { judgeMounts } from './judge-mounts.ts';
import { judgeNetwork } from './judge-network.ts';
import { judgePi } from './judge-pi.ts';
import { judgeState } from './judge-state.ts';
import { judgeUser } from './judge-user.ts';
import type { Row } from './row.ts';

/** In the order of the table. A later part of the product adds its own here. */
const JUDGES: readonly ((evidence: Evidence) => Row[])[] = [
  judgeUser,
  judgeLimits,
  judgeMounts,
  judgeState,
  judgeNetwork,
  judgePi,
];

/** A list of wrong things can be as long as the sandbox wants it to be. */
const MAX_DETAIL = 600;

/** Turns what was seen into rows, safe to print. */
export function judge(evidence: Evidence): Row[] {
  return JUDGES.flatMap((each) => each(evidence)).map(({ check, result, detail }) => {
    const safe = safeForTerminal(detail);
    return { check, result, detail: safe.length > MAX_DETAIL ? `${safe.slice(0, MAX_DETAIL)}…` : safe };
  });
}
