/** What the steps of a run are doing now, of which `status.json` tells only when they have ended: their jobs know. */
import { readStatus, readUsage } from '../../jobs/index.ts';
import { PiSandboxError } from '../../lib/errors.ts';
import type { KnownRun } from '../../runs/index.ts';
import type { Used } from './draw.ts';

export async function usedBySteps({ state }: KnownRun): Promise<Map<string, Used>> {
  const used = new Map<string, Used>();
  for (const [id, { status, job, tokens, cost }] of Object.entries(state.steps)) {
    const now = status === 'running' && job !== null ? await usedSoFar(job) : undefined;
    used.set(id, now ?? { tokens, cost });
  }
  return used;
}

/** Of a job that may not be there yet, or is just being written. */
async function usedSoFar(job: string): Promise<Used | undefined> {
  try {
    const [usage, status] = [await readUsage(job), await readStatus(job)];
    const queued = status === 'starting' ? { queued: true } : {};
    return usage && { tokens: usage.tokens.total, cost: usage.cost, ...queued };
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
    return undefined;
  }
}
