/** How much of the profile stands in `USER.md`, and so in the prompt (W11). */
import { ConfigError } from '../../lib/errors.ts';

/** Bytes. */
export const DEFAULT_BUDGET = 8 * 1024;
/** Less has no room for the pointer; more is no longer "bounded". */
const BUDGETS = { least: 512, most: 64 * 1024 };

/** @throws ConfigError for a `USER_MD_BUDGET` that is no number of bytes within its bounds */
export function memoryBudget(env: Readonly<Record<string, string | undefined>>): number {
  const word = env.USER_MD_BUDGET;
  if (word === undefined || word === '') return DEFAULT_BUDGET;
  const bytes = /^\d{1,9}$/.test(word) ? Number(word) : Number.NaN;
  if (bytes >= BUDGETS.least && bytes <= BUDGETS.most) return bytes;
  throw new ConfigError(
    'USER_MD_BUDGET',
    `${word} is no number of bytes from ${BUDGETS.least} to ${BUDGETS.most}`,
  );
}
