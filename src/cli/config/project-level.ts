/**
 * The project's own `.pi-sandbox/`: an untrusted repository's data (S8, rule 8). It may choose a few harmless
 * settings. What starts programs or decides where requests and keys go needs the user's consent.
 */
import { createHash } from 'node:crypto';
import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { readRegularFile, UnsafeFileError } from '../../lib/bounded-read.ts';
import { hasCode } from '../../lib/errors.ts';
import { FileError } from '../../lib/file-error.ts';
import { countBytes, MAX_FILE, type ReadBudget } from './config-tree.ts';
import type { CanonicalPath } from './host-path.ts';
import { canonicalJson, isObject, type Json, type JsonObject, ownValue } from './json.ts';
import { shown } from './values.ts';

export const PROJECT_DIRECTORY = '.pi-sandbox';

/** Files a project may have there; others are reported and ignored. */
export const PROJECT_FILES = ['settings.json', 'models.json', 'mcp.json', 'AGENTS.md'] as const;
export type ProjectFile = (typeof PROJECT_FILES)[number];

/** Names reported as ignored, at most. */
const MAX_REPORTED = 10;

/**
 * One thing of the project's that needs the user's consent, for exactly this content.
 *
 * A model provider is among them although it starts nothing by itself: its `baseUrl` would send the conversation
 * and the stored key elsewhere, and an `apiKey` or header of the form `!command` runs a command. A credential host is
 * that of a git remote, for which the sandbox would get the user's password (S10).
 */
export interface ConsentItem {
  readonly kind: 'mcp-server' | 'model-provider' | 'credential-host';
  readonly name: string;
  /** SHA-256 of the canonical JSON. */
  readonly hash: string;
  /** What it would do, in one printable line. */
  readonly summary: string;
}

/** One that the user has not agreed to. */
export interface MissingConsent extends ConsentItem {
  /** The answer was no: it is not asked for again. */
  readonly refused: boolean;
}

/** What a project's own configuration can hold of them. */
type ConfiguredKind = Exclude<ConsentItem['kind'], 'credential-host'>;

export interface ProjectFiles {
  readonly files: ReadonlyMap<ProjectFile, string>;
  readonly warnings: readonly string[];
}

/** Reads the project's files: regular ones only, bounded, never through a link that leaves the project. */
export async function readProjectFiles(project: CanonicalPath, budget: ReadBudget): Promise<ProjectFiles> {
  const directory = join(project, PROJECT_DIRECTORY);
  const files = new Map<ProjectFile, string>();
  const facts = await lstat(directory).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw new FileError('read', directory, error);
  });
  if (facts === undefined) return { files, warnings: [] };
  if (!facts.isDirectory()) return { files, warnings: [`${directory}: is not a directory and is ignored`] };
  const ignored: string[] = [];
  for await (const { name } of await opendir(directory)) {
    const known = PROJECT_FILES.find((file) => file === name);
    const content = known && (await readSafely(join(directory, known), project));
    if (known === undefined || content === undefined) {
      ignored.push(shown(name));
      if (ignored.length > MAX_REPORTED) break;
      continue;
    }
    countBytes(budget, content.length, join(directory, known));
    files.set(known, content.toString('utf8'));
  }
  const allowed = `a project may have ${PROJECT_FILES.join(', ')} there, as regular files`;
  const warnings = ignored
    .slice(0, MAX_REPORTED)
    .map((name) => `${directory}/${name}: is ignored; ${allowed}`);
  return {
    files,
    warnings: ignored.length > MAX_REPORTED ? [...warnings, `${directory}: more is ignored`] : warnings,
  };
}

async function readSafely(path: string, project: CanonicalPath): Promise<Buffer | undefined> {
  try {
    return await readRegularFile(path, { maxBytes: MAX_FILE, within: project });
  } catch (error) {
    if (error instanceof UnsafeFileError) return undefined;
    throw error;
  }
}

const SETTINGS: Record<string, { readonly kind: string; readonly accept: (value: Json) => boolean }> = {
  defaultModel: { kind: 'text', accept: (value) => typeof value === 'string' },
  defaultThinkingLevel: { kind: 'text', accept: (value) => typeof value === 'string' },
  enabledModels: {
    kind: 'a list of texts',
    accept: (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
  },
  compaction: { kind: 'an object', accept: isObject },
  theme: { kind: 'text', accept: (value) => typeof value === 'string' },
  quietStartup: { kind: 'true or false', accept: (value) => typeof value === 'boolean' },
};

/** The settings a project may set; every other one is a warning. */
export function allowedSettings(
  settings: JsonObject,
  file: string,
): { value: JsonObject; warnings: string[] } {
  const allowed: [string, Json][] = [];
  const refused: string[] = [];
  const warnings: string[] = [];
  for (const [key, value] of Object.entries(settings)) {
    const rule = Object.hasOwn(SETTINGS, key) ? SETTINGS[key] : undefined;
    if (key === '$schema') continue;
    if (rule === undefined) refused.push(shown(key));
    else if (rule.accept(value)) allowed.push([key, value]);
    else warnings.push(`${file}: ${key} is ignored; it must be ${rule.kind}`);
  }
  if (refused.length > 0) {
    const names = refused.slice(0, MAX_REPORTED).join(', ') + (refused.length > MAX_REPORTED ? ', …' : '');
    warnings.push(`${file}: ${names} ignored; a project may set only ${Object.keys(SETTINGS).join(', ')}`);
  }
  return { value: Object.fromEntries(allowed), warnings };
}

/** The entries of a project's `mcpServers` or `providers`, each with the consent it needs. */
export function consentEntries(
  file: JsonObject,
  kind: ConfiguredKind,
): { entries: { name: string; value: Json; item: ConsentItem }[]; others: string[] } {
  const holder = kind === 'mcp-server' ? 'mcpServers' : 'providers';
  const group = ownValue(file, holder);
  const others = Object.keys(file).filter((key) => key !== '$schema' && (key !== holder || !isObject(group)));
  const entries = Object.entries(isObject(group) ? group : {}).map(([name, value]) => {
    return { name, value, item: { kind, name, hash: hashOf(value), summary: summaryOf(kind, name, value) } };
  });
  return { entries, others: others.map(shown) };
}

/** @param host with its port, if it has one */
export function credentialHostItem(host: string): ConsentItem {
  const summary = `your credentials for ${shown(host, 260)}, the host of a remote`;
  return { kind: 'credential-host', name: host, hash: hashOf(host), summary };
}

function hashOf(value: Json): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

/** Longer than a line may be: nobody can agree to what was cut off, so that is said too. */
const MAX_COMMAND = 800;

function whole(command: string): string {
  const rest = command.length - MAX_COMMAND;
  const text = shown(command.slice(0, MAX_COMMAND), MAX_COMMAND);
  return rest > 0 ? `${text} … and ${rest} more characters, see the file` : text;
}

function summaryOf(kind: ConfiguredKind, name: string, value: Json): string {
  const fact = (key: string): Json | undefined => (isObject(value) ? ownValue(value, key) : undefined);
  if (kind === 'model-provider') {
    return `model provider ${shown(name)}: requests go to ${shown(String(fact('baseUrl') ?? 'its usual address'))}`;
  }
  const command = fact('command');
  if (command === undefined)
    return `MCP server ${shown(name)}: connects to ${shown(String(fact('url') ?? 'nothing'))}`;
  const args = fact('args');
  const line = [command, ...(Array.isArray(args) ? args : [])].map(String).join(' ');
  const env = fact('env');
  const variables = isObject(env) ? Object.entries(env).map(([key, text]) => `${key}=${String(text)}`) : [];
  return `MCP server ${shown(name)}: runs ${whole([...variables, line].join(' '))}`;
}
