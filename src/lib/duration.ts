/** How long something may take, as people write it: `90s`, `30m`, `1h30m`, `7d`; a number alone is seconds. */

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
type Unit = keyof typeof UNITS;

const MOST_MS = 10_000 * UNITS.d;

/** Milliseconds; undefined for what is no duration, or longer than 10,000 days. */
export function parseDuration(text: string): number | undefined {
  const words = text.trim();
  const alone = /^\d{1,9}(?:\.\d{1,3})?$/.test(words) ? Number(words) * UNITS.s : undefined;
  const milliseconds = alone ?? sum(words);
  return milliseconds !== undefined && milliseconds <= MOST_MS ? Math.round(milliseconds) : undefined;
}

function sum(words: string): number | undefined {
  if (!/^(?:\d{1,9}(?:\.\d{1,3})?(?:ms|s|m|h|d))+$/.test(words)) return undefined;
  let total = 0;
  for (const [, amount = '', unit = ''] of words.matchAll(/([\d.]+)(ms|s|m|h|d)/g)) {
    if (isUnit(unit)) total += Number(amount) * UNITS[unit];
  }
  return total;
}

function isUnit(text: string): text is Unit {
  return Object.hasOwn(UNITS, text);
}
