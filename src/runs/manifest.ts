/**
 * `manifest.json` (R1): what a run was started with, and who owns it. Written when the run is made; only taking it over
 * changes it, and only what tells of the owner.
 */
import * as z from 'zod/mini';
import { isStepId, type StepId } from './ids.ts';

export const MANIFEST_FILE = 'manifest.json';
export const SCHEMA_VERSION = 1;
/** The graph of it may have been 256 KiB of YAML. */
export const MANIFEST_BYTES = 2 * 1_024 * 1_024;

let schema: ReturnType<typeof makeSchema> | undefined;

/** A checked graph as it is kept: of a run, and of a schedule (R10). */
export function keptGraph() {
  const text = z.string();
  const nullable = z.nullable(text);
  const id = z.custom<StepId>((value) => typeof value === 'string' && isStepId(value), 'is no id of a step');
  const step = z.object({
    id,
    profile: nullable,
    prompt: text,
    needs: z.array(id),
    after: z.array(id),
    cwd: nullable,
    worktree: z.boolean(),
    timeoutSeconds: z.number(),
    model: nullable,
    tools: nullable,
  });
  return z.object({ objective: text, steps: z.array(step) });
}

/** What `start` lets its user set of a run, as it is kept. */
export function keptSettings() {
  const amount = z.nullable(z.number().check(z.gt(0)));
  return {
    concurrency: z.int().check(z.gte(0)),
    timeoutSeconds: z.number(),
    terminalRetentionSeconds: z.number(),
    /** A step whose job has died is run once more, or has failed (R3). */
    retry: z.enum(['died', 'none']),
    /** US dollars, and tokens, of all steps and what they start (J16). */
    maxCost: amount,
    maxTokens: amount,
  };
}

function makeSchema() {
  const text = z.string();
  const nullable = z.nullable(text);
  const whole = z.int().check(z.gte(0));
  return z.object({
    schemaVersion: z.literal(SCHEMA_VERSION),
    runId: text,
    /** ISO 8601. */
    createdAt: text,
    /** Where it was started, as its user spells it. */
    invocationCwd: text,
    /** Whose run it is: as with jobs (J1). */
    project: text,
    realProject: text,
    objective: text,
    graph: keptGraph(),
    ...keptSettings(),
    /** Agent that started it, and how deep its steps are (J8). */
    parentJob: nullable,
    depth: whole,
    maxDepth: whole,
    /** The schedule that started it (R10). */
    schedule: nullable,
    uid: whole,
    /** Facts for people, which decide nothing but `ownerSessionId`, and that only while the lock is held (R6). */
    ownerPid: z.int(),
    ownerSessionId: nullable,
    /** ISO 8601. */
    ownerStartedAt: text,
    /** The sandbox or machine. */
    ownerContainer: text,
    /** Taken over by `ownerSessionId` while nobody runs it: that one may then change it as its own (R6). */
    adopted: z.boolean(),
  });
}

export type Manifest = z.infer<ReturnType<typeof makeSchema>>;
/** Who owns a run, of its manifest. */
export type Ownership = Pick<
  Manifest,
  'ownerPid' | 'ownerSessionId' | 'ownerStartedAt' | 'ownerContainer' | 'adopted'
>;

/** A run's own version is told, and its files are left alone, whatever this version knows (R8). */
export type FileFacts<T> =
  | { readonly kind: 'known'; readonly value: T }
  | { readonly kind: 'too-old' | 'too-new'; readonly schemaVersion: number }
  | { readonly kind: 'damaged'; readonly reason: string }
  | { readonly kind: 'none' };

/** @param runId of the directory that it was found in */
export function parseManifest(text: string, runId: string): FileFacts<Manifest> {
  schema ??= makeSchema();
  const facts = parseVersioned(MANIFEST_FILE, text, schema);
  if (facts.kind !== 'known' || facts.value.runId === runId) return facts;
  return { kind: 'damaged', reason: `${MANIFEST_FILE} is that of a run ${facts.value.runId.slice(0, 100)}` };
}

/** Every file of a run that is JSON has its `schemaVersion` at its top. */
export function parseVersioned<T>(name: string, text: string, known: z.ZodMiniType<T>): FileFacts<T> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: 'damaged', reason: `${name} is not JSON` };
  }
  const version = versionIn(value);
  if (version === undefined) return { kind: 'damaged', reason: `${name} has no schemaVersion` };
  if (version !== SCHEMA_VERSION)
    return { kind: version < SCHEMA_VERSION ? 'too-old' : 'too-new', schemaVersion: version };
  const parsed = z.safeParse(known, value);
  if (parsed.success) return { kind: 'known', value: parsed.data };
  const [issue] = parsed.error.issues;
  const where = issue?.path.join('.') ?? '';
  return { kind: 'damaged', reason: `${name}: ${where} ${issue?.message ?? ''}`.trim() };
}

function versionIn(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null || !('schemaVersion' in value)) return undefined;
  const { schemaVersion } = value;
  return typeof schemaVersion === 'number' && Number.isSafeInteger(schemaVersion) ? schemaVersion : undefined;
}

export function jsonFileText(value: Manifest | object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
