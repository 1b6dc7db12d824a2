/** `job.json`: what a job was started with (J2). Written when it is made; only `notifiedAt` changes later. */
import { basename } from 'node:path';
import * as z from 'zod/mini';
import { readRegularFile } from '../lib/bounded-read.ts';
import { messageOf } from '../lib/errors.ts';
import { isJobName } from './names.ts';
import type { JobDirectory } from './places.ts';

export const RECORD_FILE = 'job.json';
const VERSION = 1;
const MAX_BYTES = 256 * 1_024;

let schemas: ReturnType<typeof makeSchemas> | undefined;

function makeSchemas() {
  const text = z.string();
  const nullable = z.nullable(text);
  const amount = z.nullable(z.number().check(z.gt(0)));
  // Whoever can write the directory can write a record: what is printed as it is must be a name.
  const name = z.string().check(z.refine(isJobName, 'is no name'));
  return {
    record: z.object({
      version: z.literal(VERSION),
      name,
      /** The starter's project: as its folder was made of, and its real path. Whose job it is, says the real one (J1). */
      project: text,
      realProject: text,
      /** Where the agent works, as given and in reality. */
      cwd: text,
      realCwd: text,
      profile: z.nullable(name),
      /** Arguments for pi beside those that every job has. */
      piArgs: z.array(text),
      /** Directory of the job that started this one. */
      parentJob: nullable,
      /** 0 for a job that a person started. */
      depth: z.int().check(z.gte(0)),
      /** An agent of this depth or more, below this job, starts none; a profile may have lowered it (J7, J8). */
      maxDepth: z.int().check(z.gte(0)),
      runMode: z.enum(['background', 'foreground']),
      /** Of each run; 0 is none. */
      timeoutSeconds: z.number().check(z.gte(0)),
      /** Id of the pi Session that started it, and of the run of a graph that it is a step of. */
      startedBySession: nullable,
      startedByRun: nullable,
      /** ISO 8601; when the Session that started it was told of its end (J12). */
      notifiedAt: nullable,
      /** ISO 8601. */
      createdAt: text,
      /** The conversation's file. */
      session: text,
      /** Dialogs wait for an answer; else they are cancelled (J5). */
      ask: z.boolean(),
      /** US dollars, and tokens, over all runs and children (J16). */
      maxCost: amount,
      maxTokens: amount,
    }),
    newer: z.object({ version: z.int().check(z.gt(VERSION)) }),
  };
}

export type JobRecord = z.infer<ReturnType<typeof makeSchemas>['record']>;

/** `broken`: there is a job, and this cannot be told of it; it is listed and never written (rule 2, J11). */
export type RecordFacts =
  | { readonly kind: 'job'; readonly record: JobRecord }
  | { readonly kind: 'broken'; readonly reason: string }
  | { readonly kind: 'none' };

export async function readRecord(directory: JobDirectory): Promise<RecordFacts> {
  let bytes: Buffer | undefined;
  try {
    bytes = await readRegularFile(`${directory}/${RECORD_FILE}`, { maxBytes: MAX_BYTES });
  } catch (error) {
    return { kind: 'broken', reason: messageOf(error) };
  }
  return bytes === undefined ? { kind: 'none' } : parseRecord(directory, bytes.toString('utf8'));
}

export function parseRecord(directory: JobDirectory, text: string): RecordFacts {
  schemas ??= makeSchemas();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: 'broken', reason: `${RECORD_FILE} is not JSON` };
  }
  const known = z.safeParse(schemas.record, value);
  if (known.success) {
    const [given, { name }] = [basename(directory), known.data];
    // One that is being removed has no name any more.
    if (given === name || !isJobName(given)) return { kind: 'job', record: known.data };
    return { kind: 'broken', reason: `${RECORD_FILE} is that of a job "${name}"` };
  }
  if (z.safeParse(schemas.newer, value).success) {
    return { kind: 'broken', reason: `${RECORD_FILE} was written by a newer version` };
  }
  const [issue] = known.error.issues;
  return {
    kind: 'broken',
    reason: `${RECORD_FILE}: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`.trim(),
  };
}

export function recordText(record: JobRecord): string {
  return `${JSON.stringify(record, undefined, 2)}\n`;
}
