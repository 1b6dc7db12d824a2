/**
 * What a terminal may act on and `JSON.stringify` leaves as it is: DEL and C1 controls, line separators, and what turns
 * the direction of text around. Outside of strings JSON holds none of them.
 */
const INVISIBLE = /[\u007f-\u009f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * The one JSON printer of `--json` (rule 6): the same value to a program, and nothing that a terminal would obey, for
 * names, paths and log lines in it are written by others (rule 8).
 *
 * @param indent spaces a level; without it one line
 */
export function jsonText(value: object, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(
    INVISIBLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
