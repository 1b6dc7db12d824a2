/**
 * `consent.json` in the configuration directory: what the user has answered about a project's own, per project and content
 * hash (S8, S10). A changed server is a new question; the same one is not asked twice, whatever the answer was.
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

const Answered = z.object({
  kind: z.enum(['mcp-server', 'model-provider', 'credential-host']),
  name: z.string(),
  hash: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
});

const ByProject = z.record(z.string(), z.array(Answered));

/**
 * On disk: `{"version":1,"projects":{"/a/project":[{"kind","name","hash"},…]},"refused":{…}}`. What was refused stands
 * apart: a program that does not know of it must not take it for a yes.
 */
const ConsentFile = z.object({
  version: z.literal(VERSION),
  projects: ByProject,
  refused: z.optional(ByProject),
});

export type ConsentAnswer = 'agreed' | 'refused';

/** What the user has answered for one project. */
export type Consents = Readonly<Record<ConsentAnswer, readonly z.infer<typeof Answered>[]>>;

/** The answers for one project. @throws ConfigError when the file is damaged or of a newer version. */
export async function readConsents(config: Config, project: CanonicalPath): Promise<Consents> {
  const { agreed, refused } = await readFile(consentPath(config));
  return { agreed: agreed.get(project) ?? [], refused: refused.get(project) ?? [] };
}

/** What the user has answered about exactly this; undefined when nobody has asked yet. */
export function answerTo(consents: Consents, item: ConsentItem): ConsentAnswer | undefined {
  const has = (answer: ConsentAnswer): boolean =>
    consents[answer].some(
      ({ kind, name, hash }) => kind === item.kind && name === item.name && hash === item.hash,
    );
  if (has('agreed')) return 'agreed';
  return has('refused') ? 'refused' : undefined;
}

/** Remembers the user's answer about these items; earlier content of the same items is forgotten. */
export async function rememberAnswer(
  config: Config,
  project: CanonicalPath,
  items: readonly ConsentItem[],
  answer: ConsentAnswer,
): Promise<void> {
  const path = consentPath(config);
  await makeStateDirectory(config.directory);
  // Two starts may be agreed to at the same moment: neither answer may be lost.
  const lock = await takeLock(`${path}.lock`, { waitMs: LOCK_MS });
  try {
    const answers = await readFile(path);
    for (const each of ['agreed', 'refused'] as const)
      exchange(answers[each], project, items, each === answer ? items : []);
    await writeFileAtomic(path, textOf(answers));
  } finally {
    lock.release();
  }
}

type Answers = Record<ConsentAnswer, Map<string, z.infer<typeof Answered>[]>>;

/** Puts `now` in the place of what was answered about `items`. */
function exchange(
  answers: Answers[ConsentAnswer],
  project: CanonicalPath,
  items: readonly ConsentItem[],
  now: readonly ConsentItem[],
): void {
  const kept = (answers.get(project) ?? []).filter(
    (before) => !items.some(({ kind, name }) => kind === before.kind && name === before.name),
  );
  const all = [...kept, ...now.map(({ kind, name, hash }) => ({ kind, name, hash }))];
  if (all.length === 0) answers.delete(project);
  else answers.set(project, all);
}

function textOf({ agreed, refused }: Answers): string {
  const content: Json = {
    version: VERSION,
    projects: Object.fromEntries(agreed),
    ...(refused.size === 0 ? {} : { refused: Object.fromEntries(refused) }),
  };
  return `${canonicalJson(content)}\n`;
}

function consentPath(config: Config): string {
  return join(config.directory, 'consent.json');
}

async function readFile(path: string): Promise<Answers> {
  const file = await readOwnFile(path, MAX_BYTES);
  if (file === undefined) return { agreed: new Map(), refused: new Map() };
  const result = ConsentFile.safeParse(parseObject(file.content.toString('utf8'), path));
  if (!result.success) {
    throw new ConfigError(path, 'is damaged or of a newer version of pi-sandbox', {
      hint: 'remove the file; consent is then asked for again',
    });
  }
  const { projects, refused = {} } = result.data;
  return { agreed: new Map(Object.entries(projects)), refused: new Map(Object.entries(refused)) };
}
