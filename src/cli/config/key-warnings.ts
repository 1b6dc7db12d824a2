/** Warnings about keys that have no effect (S6). Values are never shown: who knows what they hold. */
import type { EnvEntry } from './env-file.ts';
import { DomainSettings, ENVIRONMENT_ONLY, isSettingName, NOT_YET, Settings } from './keys.ts';
import { likelyName } from './unknown-keys.ts';

/** Reported in all; what is more is counted only (rule 7). */
const MAX_WARNINGS = 20;

export function keyWarnings(
  entries: ReadonlyMap<string, EnvEntry>,
  domains: readonly { readonly key: string }[],
): string[] {
  const templates = Object.keys(DomainSettings.shape);
  const ofDomains = domains.flatMap(({ key }) => templates.map((template) => template.replace('<ID>', key)));
  const known = [...Object.keys(Settings.shape), ...ofDomains];
  const warnings: string[] = [];
  for (const [key, { where }] of entries) {
    const inEnvironment = where.startsWith('environment variable ');
    if (isSettingName(key) || ofDomains.includes(key)) continue;
    if (inEnvironment && ENVIRONMENT_ONLY.includes(key)) continue;
    warnings.push(`${where}: ${sentence(key, known, templates, inEnvironment)}`);
  }
  const rest = warnings.length - MAX_WARNINGS;
  return rest > 0 ? [...warnings.slice(0, MAX_WARNINGS), `and ${rest} more keys without effect`] : warnings;
}

function sentence(
  key: string,
  known: readonly string[],
  templates: readonly string[],
  inEnvironment: boolean,
): string {
  if (NOT_YET.test(key)) return `${key} is not supported by this version and has no effect`;
  const bare = key.replace(/^PI_SANDBOX_/, '');
  if (!inEnvironment && bare !== key && [...known, ...ENVIRONMENT_ONLY].includes(bare)) {
    return ENVIRONMENT_ONLY.includes(bare)
      ? `${key} is read from the environment only and has no effect here`
      : `${key} has no effect; in this file the key is ${bare}`;
  }
  const shape = templates.find((template) =>
    new RegExp(`^${template.replace('<ID>', '[A-Z0-9_]+')}$`).test(key),
  );
  const likely = likelyName(bare, known);
  const meant = likely === undefined ? '' : `; did you mean ${inEnvironment ? 'PI_SANDBOX_' : ''}${likely}?`;
  if (shape !== undefined) return `${key} names no domain of DOMAINS and has no effect${meant}`;
  if (likely === undefined && /(_KEY|_TOKEN|_SECRET|_PASSWORD)$/.test(key)) {
    return `unknown key ${key} has no effect; to hand on a variable of your environment, name it in PASS_ENV`;
  }
  return `unknown key ${key} has no effect${meant}`;
}
