/**
 * A schedule as it is kept (R10): everything that a start needs, and how far it has come. Only the holder of its lock writes
 * it, a step of a firing at a time.
 */
import * as z from 'zod/mini';
import { isRunId, type RunId } from '../ids.ts';
import {
  type FileFacts,
  keptGraph,
  keptSettings,
  MANIFEST_BYTES,
  parseVersioned,
  SCHEMA_VERSION,
} from '../manifest.ts';
import { isScheduleId, type ScheduleId } from './ids.ts';

/** It has a graph, as a manifest has. */
export const SCHEDULE_BYTES = MANIFEST_BYTES;

export const CATCH_UPS = ['none', 'latest'] as const;
export type CatchUp = (typeof CATCH_UPS)[number];
export const OVERLAPS = ['skip', 'queue'] as const;
export type Overlap = (typeof OVERLAPS)[number];

let schema: ReturnType<typeof makeSchema> | undefined;

function makeSchema() {
  const text = z.string();
  const instant = text.check(z.refine((value) => Number.isFinite(Date.parse(value)), 'is no time'));
  const whole = z.int().check(z.gte(0));
  const runId = z.custom<RunId>((value) => typeof value === 'string' && isRunId(value), 'is no id of a run');
  const id = z.custom<ScheduleId>(
    (value) => typeof value === 'string' && isScheduleId(value),
    'is no id of a schedule',
  );
  return z.object({
    schemaVersion: z.literal(SCHEMA_VERSION),
    scheduleId: id,
    createdAt: instant,
    cron: text,
    /** IANA name. */
    tz: text,
    /** What is done about instants that came while nothing ran. */
    catchUp: z.enum(CATCH_UPS),
    /** What is done while the run before still goes on. */
    overlap: z.enum(OVERLAPS),
    graph: keptGraph(),
    project: text,
    realProject: text,
    cwd: text,
    /** For people: the state is one domain's anyway. */
    domain: z.nullable(text),
    uid: whole,
    ...keptSettings(),
    /** As the one that added it had them (J8). */
    depth: whole,
    maxDepth: whole,
    /** All instants up to here have been looked at. */
    lastInstant: instant,
    /** The last one that a run was started for; nothing up to here is ever started again. */
    lastStarted: z.nullable(instant),
    /** Written before a run is made, with the id that it will have. */
    planned: z.nullable(z.object({ instant, runId })),
    /** Waits for the end of the run before. */
    queued: z.nullable(instant),
    previousRun: z.nullable(runId),
  });
}

export type Schedule = z.infer<ReturnType<typeof makeSchema>>;

/** @param id of the file that it was found in */
export function parseSchedule(text: string, id: ScheduleId): FileFacts<Schedule> {
  schema ??= makeSchema();
  const facts = parseVersioned(`${id}.json`, text, schema);
  if (facts.kind !== 'known' || facts.value.scheduleId === id) return facts;
  return { kind: 'damaged', reason: `${id}.json is that of a schedule ${facts.value.scheduleId}` };
}
