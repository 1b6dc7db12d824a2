/**
 * `consent.json` in the configuration directory: what of a project's own the user has agreed to, per project and content
 * hash (S8, S10). A changed server is a new question.
 */
import { join } from 'node:path';
import * as z from 'zod/mini';
import { makeStateDirectory, writeFileAtomic } from '../../lib/atomic-file.ts';
import { ConfigError } from '../../lib/errors.ts';
import { takeLock } from '../../lib/kernel-lock.ts';
import type { CanonicalPath } from './host-path.ts';
import { canonicalJson, type Json, parseObject } from './json.ts';
import type { Config } from './load.ts';
import { readOwnFile } from './own-file.ts';
import type { ConsentItem } from './project-level.ts';

const VERSION = 1;
const MAX_BYTES = 4 * 1024 * 1024;
/** Others hold the lock for one read and one write. */
const LOCK_MS = 5_000;

const Grant = z.object({
  kind: z.enum(['mcp-server', 'model-provider', 'credential-host']),
  name: z.string(),
  hash: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
});

/** On disk: `{"version":1,"projects":{"/a/project":[{"kind","name","hash"},…]}}`. */
const ConsentFile = z.object({
  version: z.literal(VERSION),
  projects: z.record(z.string(), z.array(Grant)),
});

/** What the user has agreed to for one project. */
export type Consents = readonly z.infer<typeof Grant>[];

/** The grants of one project. @throws ConfigError when the file is damaged or of a newer version. */
export async function readConsents(config: Config, project: CanonicalPath): Promise<Consents> {
  const projects = await readFile(consentPath(config));
  return projects.get(project) ?? [];
}

export function hasConsent(consents: Consents, item: ConsentItem): boolean {
  return consents.some(
    ({ kind, name, hash }) => kind === item.kind && name === item.name && hash === item.hash,
  );
}

/** Remembers the user's consent to these items; earlier content of the same items is forgotten. */
export async function grantConsent(
  config: Config,
  project: CanonicalPath,
  items: readonly ConsentItem[],
): Promise<void> {
  const path = consentPath(config);
  await makeStateDirectory(config.directory);
  // Two starts may be agreed to at the same moment: neither answer may be lost.
  const lock = await takeLock(`${path}.lock`, { waitMs: LOCK_MS });
  try {
    await writeFileAtomic(path, withGrants(await readFile(path), project, items));
  } finally {
    lock.release();
  }
}

function withGrants(
  projects: Map<string, z.infer<typeof Grant>[]>,
  project: CanonicalPath,
  items: readonly ConsentItem[],
): string {
  const kept = (projects.get(project) ?? []).filter(
    (grant) => !items.some(({ kind, name }) => kind === grant.kind && name === grant.name),
  );
  projects.set(project, [...kept, ...items.map(({ kind, name, hash }) => ({ kind, name, hash }))]);
  const content: Json = { version: VERSION, projects: Object.fromEntries(projects) };
  return `${canonicalJson(content)}\n`;
}

function consentPath(config: Config): string {
  return join(config.directory, 'consent.json');
}

async function readFile(path: string): Promise<Map<string, z.infer<typeof Grant>[]>> {
  const file = await readOwnFile(path, MAX_BYTES);
  if (file === undefined) return new Map();
  const result = ConsentFile.safeParse(parseObject(file.content.toString('utf8'), path));
  if (!result.success) {
    throw new ConfigError(path, 'is damaged or of a newer version of pi-sandbox', {
      hint: 'remove the file; consent is then asked for again',
    });
  }
  return new Map(Object.entries(result.data.projects));
}
