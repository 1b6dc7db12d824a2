/** What the steps of a run use, with all that they start, and the run's own budget of it (J16). */
import {
  addUsage,
  type Descendants,
  type JobDirectory,
  NO_USAGE,
  openDescendants,
  readUsage,
  type Usage,
} from '../../jobs/index.ts';
import type { Manifest } from '../manifest.ts';
import { isFinalStep, type RunState } from '../status-file.ts';
import type { Owned } from './options.ts';

const WARNING = 0.8;
/** Agents spend while nothing of the run changes; nobody tells of it, so they are looked at. */
const LOOK_MS = 5_000;

export interface Spending {
  /** Of a job that runs and all below it, so far. */
  of(job: JobDirectory): Promise<Usage>;
  /** The same of one that has ended, which is looked at no more. */
  last(job: JobDirectory): Promise<Usage>;
}

export function openSpending(): Spending {
  const families = new Map<JobDirectory, Descendants>();

  async function of(job: JobDirectory): Promise<Usage> {
    const family = families.get(job) ?? openDescendants(job);
    families.set(job, family);
    // What cannot be read is not known to be anything.
    const [own, others] = await Promise.all([
      readUsage(job).catch(() => undefined),
      family.usage().catch(() => NO_USAGE),
    ]);
    return addUsage(own ?? NO_USAGE, others);
  }

  return {
    of,
    async last(job) {
      const usage = await of(job);
      families.delete(job);
      return usage;
    },
  };
}

interface Limit {
  readonly most: number;
  readonly amount: (spent: Spent) => number;
  readonly text: (amount: number) => string;
  readonly name: string;
}

interface Spent {
  readonly tokens: number;
  readonly cost: number;
}

/** Warns once at 80 % of each limit, and gives the run up when one is spent; ends when the run does. */
export async function keepBudget({ held, deps, ledger, over }: Owned, spending: Spending): Promise<void> {
  const limits = limitsOf(held.manifest);
  const warned = new Set<string>();
  while (limits.length > 0 && !over.aborted) {
    const spent = await spentBy(ledger.state, spending);
    for (const { most, amount, text, name } of limits) {
      const facts = `${text(amount(spent))} of ${text(most)} ${name}`;
      if (amount(spent) >= most) {
        await ledger.put({ type: 'give-up', reason: `budget: ${facts}` });
        return;
      }
      if (amount(spent) < WARNING * most || warned.has(name)) continue;
      warned.add(name);
      await ledger.note({ type: 'budget', text: `${facts}; when all is spent, the run is given up` });
    }
    await deps.clock.sleep(LOOK_MS, over).catch(() => undefined);
  }
}

function limitsOf({ maxCost, maxTokens }: Pick<Manifest, 'maxCost' | 'maxTokens'>): Limit[] {
  const limits: Limit[] = [];
  if (maxCost !== null)
    limits.push({ most: maxCost, amount: ({ cost }) => cost, text: dollars, name: 'are spent' });
  if (maxTokens !== null)
    limits.push({ most: maxTokens, amount: ({ tokens }) => tokens, text: String, name: 'tokens are used' });
  return limits;
}

function dollars(amount: number): string {
  return `$${amount.toFixed(4).replace(/(\.\d\d)0+$/, '$1')}`;
}

/** Of a step that has ended its file says it; of one that runs, its job. */
async function spentBy({ steps }: RunState, spending: Spending): Promise<Spent> {
  const all = await Promise.all(
    Object.values(steps).map(async ({ status, job, tokens, cost }): Promise<Spent> => {
      if (isFinalStep(status) || job === null) return { tokens, cost };
      const usage = await spending.of(job);
      return { tokens: usage.tokens.total, cost: usage.cost };
    }),
  );
  return all.reduce((sum, one) => ({ tokens: sum.tokens + one.tokens, cost: sum.cost + one.cost }), {
    tokens: 0,
    cost: 0,
  });
}
