/** The configuration as `config show` prints it: each key with its origin, and nothing that looks like a secret. */
import { redactor } from '../../lib/redact.ts';
import { type KeyPath, showPath } from './deep-merge.ts';
import { isObject, type Json, ownValue } from './json.ts';
import { Settings } from './keys.ts';
import type { Config } from './load.ts';
import type { SessionMerge } from './merge.ts';

export interface ShownSetting {
  readonly key: string;
  readonly value: string;
  /** `file:line`, `environment variable X` or `default`. */
  readonly from: string;
}

export interface ShownKey {
  readonly file: string;
  /** Empty for files that are taken whole. */
  readonly key: string;
  readonly value: string;
  readonly from: string;
}

const HIDDEN = '***';
const SECRET = /(api_?-?key|token|secret|passw|authorization|credential|cookie|private_?-?key)/i;
/** Groups whose every value may be one. */
const SECRET_GROUPS = /^(headers|env)$/i;
const hideKeys = redactor([]);

/** Every key of `.env`, given or not. */
export function shownSettings(config: Config): ShownSetting[] {
  const rows: ShownSetting[] = [];
  const add = (key: string, value: unknown): void => {
    rows.push({ key, value: hideKeys(asWritten(key, value)), from: config.origins.get(key) ?? 'default' });
  };
  add('DOMAINS', config.domains.map(({ id }) => id).join(','));
  for (const { key, paths, sessionsRetentionDays, maxCost } of config.domains) {
    add(`DOMAIN_${key}_PATHS`, paths.join(':'));
    add(`SESSIONS_${key}_RETENTION_DAYS`, sessionsRetentionDays);
    add(`DOMAIN_${key}_MAX_COST`, maxCost);
  }
  const values = new Map<string, unknown>(Object.entries(config));
  for (const key of Object.keys(Settings.shape)) {
    if (key !== 'DOMAINS') add(key, values.get(key));
  }
  return rows;
}

/** A value in the form that `.env` takes. */
function asWritten(key: string, value: unknown): string {
  if (value === undefined) return '';
  if (Array.isArray(value)) return value.join(',');
  if (typeof value === 'number' && (key === 'MEMORY' || key === 'TMP_SIZE')) return sizeAsWritten(value);
  if (typeof value === 'object' && value !== null && 'address' in value && 'prefixLength' in value) {
    return `${value.address}/${value.prefixLength}`;
  }
  return String(value);
}

function sizeAsWritten(bytes: number): string {
  const units = ['', 'k', 'm', 'g', 't'];
  let power = 0;
  while (power < units.length - 1 && bytes % 1024 ** (power + 1) === 0) power += 1;
  return `${bytes / 1024 ** power}${units[power]}`;
}

/** Each merged key with its origin, then the files that are taken whole. */
export function shownMerge(merge: SessionMerge): ShownKey[] {
  const rows: ShownKey[] = [];
  for (const { file, value, origins } of merge.origins) {
    for (const { path, file: from } of origins) {
      rows.push({ file, key: showPath(path), value: visible(path, at(value, path)), from });
    }
  }
  const merged = new Set<string>(merge.origins.map(({ file }) => file));
  for (const { path, content, from } of merge.files) {
    if (!merged.has(path)) rows.push({ file: path, key: '', value: `${content.length} bytes`, from });
  }
  if (merge.certificates !== undefined) {
    const { content, from } = merge.certificates;
    rows.push({ file: 'ca-certificates.crt', key: '', value: `${content.length} bytes`, from });
  }
  return rows;
}

function at(value: Json, path: KeyPath): Json | undefined {
  let found: Json | undefined = value;
  for (const key of path) found = isObject(found) ? ownValue(found, key) : undefined;
  return found;
}

/** Texts under a name that sounds secret are hidden, but for references to a variable, which say no secret. */
function visible(path: KeyPath, value: Json | undefined): string {
  const last = path.at(-1) ?? '';
  const secret = SECRET.test(last) || path.slice(0, -1).some((key) => SECRET_GROUPS.test(key));
  if (secret && typeof value === 'string' && !/^\$(\w+|\{\w+\})$/.test(value)) return HIDDEN;
  const text = JSON.stringify(masked(value ?? null, secret));
  const safe = hideKeys(
    text.replace(/(--?[\w-]*(?:key|token|secret|password)[\w-]*(?:=|",\s*"))[^"]*/gi, `$1${HIDDEN}`),
  );
  return safe.length > 200 ? `${safe.slice(0, 197)}...` : safe;
}

/** Inside arrays, which are shown whole, by the same rule. */
function masked(value: Json, secret: boolean): Json {
  if (typeof value === 'string') return secret && !/^\$(\w+|\{\w+\})$/.test(value) ? HIDDEN : value;
  if (Array.isArray(value)) return value.map((item: Json) => masked(item, secret));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]): [string, Json] => [
    key,
    masked(item, secret || SECRET.test(key) || SECRET_GROUPS.test(key)),
  ]);
  return Object.fromEntries(entries);
}
