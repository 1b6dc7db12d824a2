/** Moments that others wrote: into Session files, the log, and the times of files. */

/** Years of four digits: every reader of ISO 8601 knows these, and JSON has no other dates. */
const [FIRST, LAST] = [Date.parse('0000-01-01T00:00:00.000Z'), Date.parse('9999-12-31T23:59:59.999Z')];

/** The moment, in milliseconds or as text; undefined for what is none, or none that everybody can read. */
export function dateOf(moment: string | number | undefined): Date | undefined {
  const date = new Date(moment ?? Number.NaN);
  const time = date.getTime();
  return time >= FIRST && time <= LAST ? date : undefined;
}
