import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Roots } from '../../agent-dir/index.ts';
import { SandboxConfig, type SelftestFacts } from '../../wire/index.ts';

/** What the current merge says of how long Sessions stay (S11, S16). */
export function toldRetention(roots: Roots): Pick<SelftestFacts, 'retention'> {
  try {
    const merge = dirname(realpathSync(`${roots.memory}/config`));
    const { history } = SandboxConfig.parse(JSON.parse(readFileSync(join(merge, 'sandbox.json'), 'utf8')));
    if (history === undefined) return {};
    return { retention: { days: history.retentionDays, trashDays: history.trashDays } };
  } catch {
    return {};
  }
}
