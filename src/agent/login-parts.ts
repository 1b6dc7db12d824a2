/**
 * What in a login leads a conversation somewhere. All domains share `auth.json` and any of them can write it, so a domain
 * takes such a part of an entry only when its own pi has written it (S5; docs/security.md).
 */
import { createHash } from 'node:crypto';

/** An entry of `auth.json`; only what is named here has a meaning for us, the rest stays as it is. */
export type Login = Readonly<Record<string, unknown>>;

interface Part {
  readonly name: string;
  readonly value: string;
}

/** Where GitHub's own Copilot answers. Its token names the host that pi asks; any other is an address like others. */
const COPILOT_HOST = /^([a-z0-9-]+\.)*githubcopilot\.com$/i;
const TOKEN_HOST = /proxy-ep=([^;]+);?/;

/** Fields that hold an address by their name, also in logins of providers that we know nothing of. */
const ADDRESS_NAME = /url|host|domain|endpoint|gateway|proxy/i;
const NO_ADDRESS = new Set(['type', 'env', 'key', 'refresh', 'scope', 'scopes']);

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Every part of an entry that decides where requests go: variables for the provider, addresses, the host in a token. */
function partsOf(login: Login): Part[] {
  const variables = isRecord(login.env) ? Object.entries(login.env) : [];
  const parts = variables.map(([name, value]) => ({ name: `env.${name}`, value: textOf(value) }));
  for (const [name, value] of Object.entries(login)) {
    if (NO_ADDRESS.has(name)) continue;
    const host = typeof value === 'string' ? TOKEN_HOST.exec(value)?.[1] : undefined;
    if (host !== undefined) {
      if (!COPILOT_HOST.test(host)) parts.push({ name, value: host });
    } else if (ADDRESS_NAME.test(name) || textOf(value).includes('://')) {
      parts.push({ name, value: textOf(value) });
    }
  }
  return parts;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function hashOf(provider: string, { name, value }: Part): string {
  return createHash('sha256')
    .update(JSON.stringify([provider, name, value]))
    .digest('hex');
}

export interface Screened {
  /** The entry without what is not known; the same object when all of it is. */
  readonly login: Login;
  /** Names of what was left out. */
  readonly left: readonly string[];
}

/** An entry as this domain may use it. `isKnown` says of a part's hash whether the domain's own pi has written it. */
export function screen(provider: string, login: Login, isKnown: (hash: string) => boolean): Screened {
  const names = new Set(
    partsOf(login)
      .filter((part) => !isKnown(hashOf(provider, part)))
      .map(({ name }) => name),
  );
  if (names.size === 0) return { login, left: [] };
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(login)) {
    if (name === 'env' && isRecord(value)) {
      kept.env = Object.fromEntries(
        Object.entries(value).filter(([variable]) => !names.has(`env.${variable}`)),
      );
    } else if (!names.has(name)) {
      kept[name] = value;
    } else if (typeof value === 'string' && TOKEN_HOST.test(value)) {
      // A token has to stay one: pi refuses the whole file over an entry without it.
      kept[name] = value.replace(TOKEN_HOST, '');
    }
  }
  return { login: kept, left: [...names].map((name) => name.replace(/^env\./, '')) };
}

/** Hashes of the parts of an entry that the one before it of the same provider did not have. */
export function newParts(provider: string, login: Login, before: Login): string[] {
  const old = new Set(partsOf(before).map((part) => hashOf(provider, part)));
  return partsOf(login)
    .map((part) => hashOf(provider, part))
    .filter((hash) => !old.has(hash));
}
