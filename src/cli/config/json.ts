/** JSON as configuration files hold it: errors with line and column, no dangerous keys, bounded depth (S8, rule 7). */
import { ConfigError } from '../../lib/errors.ts';
import { errorOffset, positionAt } from './json-position.ts';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Deeper nesting is refused: what merges and prints a value walks it recursively. */
const MAX_DEPTH = 64;

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Own values only: a key such as "constructor" must not find what every object inherits. */
export function ownValue(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/**
 * The object in `text`. With `comments`, `//` comments and trailing commas pass, as pi allows in models.json.
 *
 * @throws ConfigError naming `file:line:column`; never with the file's text, which may hold a key.
 */
export function parseObject(text: string, file: string, comments = false): JsonObject {
  const plain = comments ? withoutComments(text) : text;
  const body = plain.startsWith('\uFEFF') ? ` ${plain.slice(1)}` : plain;
  let value: Json;
  try {
    value = JSON.parse(body);
  } catch {
    const { line, column } = positionAt(body, errorOffset(body));
    throw new ConfigError(`${file}:${line}:${column}`, 'this is not valid JSON from here on');
  }
  if (!isObject(value)) throw new ConfigError(`${file}:1:1`, 'must hold a JSON object: { … }');
  return cleanObject(value, file, 0);
}

/** JSON with sorted keys: equal values give equal text, whatever their order in the file. */
export function canonicalJson(value: Json): string {
  return JSON.stringify(value, (_key, item: Json) =>
    isObject(item) ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))) : item,
  );
}

/**
 * The same value without any key "__proto__": whoever copies it by assignment, here or in pi, would change an
 * object's prototype instead.
 */
function cleanObject(object: JsonObject, file: string, depth: number): JsonObject {
  const entries = Object.entries(object).filter(([key]) => key !== '__proto__');
  return Object.fromEntries(entries.map(([key, item]) => [key, clean(item, file, depth + 1)]));
}

function clean(value: Json, file: string, depth: number): Json {
  if (depth > MAX_DEPTH) throw new ConfigError(file, `is nested deeper than ${MAX_DEPTH} levels`);
  if (isObject(value)) return cleanObject(value, file, depth);
  return Array.isArray(value) ? value.map((item: Json) => clean(item, file, depth + 1)) : value;
}

/** Replaced by blanks of the same length, so that positions stay those of the file. */
function withoutComments(text: string): string {
  return text
    .replace(/"(?:\\.|[^"\\\n])*"|\/\/[^\n]*/g, (match) =>
      match[0] === '"' ? match : ' '.repeat(match.length),
    )
    .replace(/"(?:\\.|[^"\\\n])*"|,(?=\s*[}\]])/g, (match) => (match[0] === '"' ? match : ' '));
}
