/** Reading the engines' JSON, which comes from outside: a field that is missing or of another type is a default. */

export type Json = Readonly<Record<string, unknown>>;

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function object(value: unknown): Json {
  return isJson(value) ? value : {};
}

export function objects(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isJson) : [];
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

export function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

export function textMap(value: unknown): Record<string, string> {
  const entries = Object.entries(object(value)).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return Object.fromEntries(entries);
}

/** A time as milliseconds since 1970; undefined where there is none (Go's zero time included). */
export function time(value: unknown): number | undefined {
  const at = typeof value === 'number' ? value * 1000 : Date.parse(text(value));
  return Number.isNaN(at) || at <= 0 ? undefined : at;
}

/** Labels to look for; an undefined value asks only that the label is there. */
export type LabelFilter = Readonly<Record<string, string | undefined>>;

/** The `filters` parameter for labels: only the first, since Podman finds no image by two; `hasLabels` sees to the rest. */
export function labelFilters(labels: LabelFilter): string {
  const label = Object.entries(labels)
    .slice(0, 1)
    .map(([key, value]) => (value === undefined ? key : `${key}=${value}`));
  // An empty list is for Podman a filter that is badly written.
  return JSON.stringify(label.length === 0 ? {} : { label });
}

/** Engines differ in how exactly they match, so what they list is checked again. */
export function hasLabels(actual: Readonly<Record<string, string>>, wanted: LabelFilter): boolean {
  return Object.entries(wanted).every(([key, value]) =>
    value === undefined ? key in actual : actual[key] === value,
  );
}
