/** What the host and the helper container that works on the old history say to each other: one JSON value a line. */
import * as z from 'zod/mini';
import { DomainTable } from '../../wire/index.ts';
import { ClearReport, LEGACY_VERSION, LegacyContent, MigrationReport } from './report.ts';

/** The helper's argument. Paths are the helper's. */
export const LegacyRequest = z.object({
  version: z.literal(LEGACY_VERSION),
  verb: z.enum(['migrate', 'status', 'clear']),
  sharedRoot: z.string(),
  table: DomainTable,
  /** For `migrate`: sessions directories by domain. */
  domains: z.optional(z.record(z.string(), z.string())),
  /** For `clear`: also what waits for a domain's first start. */
  all: z.optional(z.boolean()),
  /** Milliseconds to wait for another helper. */
  waitMs: z.optional(z.number()),
});
export type LegacyRequest = z.infer<typeof LegacyRequest>;

/** The helper's standard output: any number of `waiting` and `moving`, then one other. What fails is a line too. */
export const LegacyMessage = z.discriminatedUnion('step', [
  z.object({ step: z.literal('waiting') }),
  z.object({ step: z.literal('moving'), files: z.int(), total: z.int(), moved: z.int(), bytes: z.int() }),
  z.object({ step: z.literal('migrated'), report: MigrationReport }),
  z.object({ step: z.literal('status'), content: LegacyContent }),
  z.object({ step: z.literal('cleared'), report: ClearReport }),
  z.object({ step: z.literal('failed'), message: z.string() }),
]);
export type LegacyMessage = z.infer<typeof LegacyMessage>;
