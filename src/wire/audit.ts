/**
 * What `doctor` asks of the program that looks at agent directories in a sandbox's volumes, and what that answers (W12).
 * The answer comes from where a sandbox writes and is hostile input: every part of it is bounded.
 *
 * The schemas are made when they are called for: every command and every supervisor loads this room.
 */
import * as z from 'zod/mini';

export const AUDIT_VERSION = 1;

/** More than this of the answer is not read. */
export const AUDIT_ANSWER_BYTES = 1024 * 1024;
const MAX_PLACES = 8;
const MAX_ENTRIES = 64;

const text = () => z.string().check(z.maxLength(4_096));
const word = () => z.string().check(z.maxLength(256));
const count = () => z.int().check(z.minimum(0));

export function auditRequest() {
  return z.object({
    version: z.literal(AUDIT_VERSION),
    places: z
      .array(
        z.object({
          /** How the place is called in the answer. */
          where: word(),
          path: text(),
          /** Its links are how it is made, and none of its entries. */
          skipLinks: z.boolean(),
        }),
      )
      .check(z.maxLength(MAX_PLACES)),
  });
}
export type AuditRequest = z.infer<ReturnType<typeof auditRequest>>;

function entry() {
  return z.object({
    name: text(),
    kind: z.enum(['file', 'directory', 'link', 'other']),
    bytes: count(),
    atLeast: z.boolean(),
    ageMs: z.int(),
    migrates: z.boolean(),
  });
}

export function auditAnswer() {
  const audit = z.object({
    where: word(),
    entries: z.array(entry()).check(z.maxLength(MAX_ENTRIES)),
    omitted: count(),
    cut: z.boolean(),
  });
  /** A place that could not be looked at. */
  const problem = z.object({ where: word(), problem: text() });
  return z.object({
    version: z.literal(AUDIT_VERSION),
    places: z.array(z.union([audit, problem])).check(z.maxLength(MAX_PLACES)),
  });
}
export type AuditAnswer = z.infer<ReturnType<typeof auditAnswer>>;
