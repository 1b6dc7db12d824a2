/** What a job may spend: warned of at 80 %, and its end when it is spent (J16). */

import type { Clock } from '../../lib/clock.ts';
import { UsageError } from '../../lib/errors.ts';
import type { HeldJob } from '../held-job.ts';
import { addUsage, type Usage } from '../usage.ts';
import { spendToday } from './day.ts';
import { openDescendants } from './descendants.ts';

/** US dollars that all jobs of a state directory may cost in a day; the host sets it from the domain's configuration. */
export const DAY_MAX_COST_VARIABLE = 'MULTI_AGENT_DAY_MAX_COST';
const WARNING = 0.8;
/** Children spend while their parent's pi is silent; nobody tells of it, so they are looked at. */
const LOOK_MS = 5_000;

export interface Budget {
  /** Looks at everything; calls that come meanwhile are one more look. */
  check(): Promise<void>;
  /** Looks every few seconds until the signal is aborted; does nothing where nothing is limited. */
  follow(signal: AbortSignal): Promise<void>;
}

export interface BudgetOptions {
  readonly held: HeldJob;
  readonly clock: Clock;
  readonly env: NodeJS.ProcessEnv;
  /** Of all runs of the job itself. */
  own(): Usage;
  warn(text: string): void;
  onSpent(reason: string): void;
  onFailure(error: unknown): void;
}

interface Limit {
  readonly name: string;
  readonly most: number;
  readonly text: (amount: number) => string;
  readonly spent: () => Promise<number>;
}

/** @throws UsageError when the day's limit is no amount */
export function openBudget(options: BudgetOptions): Budget {
  const limits = limitsOf(options);
  const warned = new Set<string>();
  let checking: Promise<void> | undefined;
  let again = false;

  async function look(): Promise<void> {
    for (const { name, most, text, spent } of limits) {
      const amount = await spent();
      const facts = `${text(amount)} of ${text(most)} ${name}`;
      if (amount >= most) options.onSpent(`budget: ${facts}`);
      else if (amount >= WARNING * most && !warned.has(name)) {
        warned.add(name);
        options.warn(`budget: ${facts}, at 100 % it is aborted`);
      }
    }
  }

  async function lookUntilSeen(): Promise<void> {
    do {
      again = false;
      // A sum that cannot be told is no reason to lose the work that is done already.
      await look().catch(options.onFailure);
    } while (again);
    checking = undefined;
  }

  function check(): Promise<void> {
    again = checking !== undefined;
    checking ??= lookUntilSeen();
    return checking;
  }

  return {
    check,
    async follow(signal) {
      while (limits.length > 0 && !signal.aborted) {
        await options.clock.sleep(LOOK_MS, signal).catch(() => {});
        if (!signal.aborted) await check();
      }
    },
  };
}

function limitsOf({ held, clock, env, own }: BudgetOptions): Limit[] {
  const { maxCost, maxTokens } = held.record;
  const descendants = openDescendants(held.directory);
  const all = async (): Promise<Usage> => addUsage(own(), await descendants.usage());
  const limits: Limit[] = [];
  if (maxCost !== null) {
    limits.push({ name: 'are spent', most: maxCost, text: dollars, spent: async () => (await all()).cost });
  }
  if (maxTokens !== null) {
    const spent = async (): Promise<number> => (await all()).tokens.total;
    limits.push({ name: 'tokens are used', most: maxTokens, text: String, spent });
  }
  const day = dayLimit(env);
  if (day !== undefined) {
    let told = own().cost;
    const spent = async (): Promise<number> => {
      const cost = own().cost;
      const sum = await spendToday(held.place, clock, Math.max(0, cost - told));
      told = cost;
      return sum;
    };
    limits.push({ name: 'are spent by all jobs today', most: day, text: dollars, spent });
  }
  return limits;
}

function dollars(amount: number): string {
  return `$${amount.toFixed(4).replace(/(\.\d\d)0+$/, '$1')}`;
}

/** @throws UsageError */
function dayLimit(env: NodeJS.ProcessEnv): number | undefined {
  const text = env[DAY_MAX_COST_VARIABLE];
  if (text === undefined || text === '') return undefined;
  const most = /^\d{1,9}(?:\.\d{1,9})?$/.test(text) ? Number(text) : 0;
  if (most > 0) return most;
  throw new UsageError(
    `${DAY_MAX_COST_VARIABLE}=${JSON.stringify(text.slice(0, 100))} is no amount of dollars`,
    {
      hint: 'use a number above 0, such as 25 or 2.50',
    },
  );
}
