/** What `import` and `export` say to the helper container that works on one volume (S15). */
import * as z from 'zod/mini';

export const TRANSFER_VERSION = 1;

/** The helper's argument; never content, which comes on standard input (S10). Paths are the helper's. */
export const TransferRequest = z.discriminatedUnion('verb', [
  /** Takes a tar of Sessions from standard input. */
  z.object({ version: z.literal(TRANSFER_VERSION), verb: z.literal('receive-sessions'), root: z.string() }),
  /** Takes {@link SignIns} from standard input. */
  z.object({
    version: z.literal(TRANSFER_VERSION),
    verb: z.literal('receive-sign-ins'),
    root: z.string(),
    /** A sign-in that is there and is another one gives way. */
    replace: z.boolean(),
  }),
  /** Prints {@link SignIns}. */
  z.object({
    version: z.literal(TRANSFER_VERSION),
    verb: z.literal('send-sign-ins'),
    root: z.string(),
    names: z.array(z.enum(['auth.json', 'trust.json', 'mcp-auth.json'])),
  }),
]);
export type TransferRequest = z.infer<typeof TransferRequest>;

/** The files that hold sign-ins and decisions, and where each lies below its volume's root. */
export const SIGN_IN_PLACES = {
  'auth.json': ['.pi', 'agent'],
  'trust.json': ['.pi', 'agent'],
  'mcp-auth.json': [],
} as const satisfies Record<string, readonly string[]>;
export type SignInName = keyof typeof SIGN_IN_PLACES;

/** Contents by name. */
export const SignIns = z.object({
  'auth.json': z.optional(z.string()),
  'trust.json': z.optional(z.string()),
  'mcp-auth.json': z.optional(z.string()),
});
export type SignIns = z.infer<typeof SignIns>;

/** Larger ones are not read (rule 7). */
export const MAX_SIGN_IN_BYTES = 1024 * 1024;

export const SignInOutcome = z.object({
  name: z.enum(['auth.json', 'trust.json', 'mcp-auth.json']),
  /** `kept`: nothing new, and what differs stays as it is; `blocked`: something stands there that is not written to. */
  outcome: z.enum(['written', 'merged', 'there', 'kept', 'blocked']),
  /** Entries that are there already with another value, by name: providers, directories, servers. */
  differing: z.array(z.string()),
  reason: z.optional(z.string()),
});
export type SignInOutcome = z.infer<typeof SignInOutcome>;

/** The helper's standard output, one JSON value a line. What fails is a line too. */
export const TransferMessage = z.discriminatedUnion('step', [
  /** The room that owns the report has its schema. */
  z.object({ step: z.literal('received'), report: z.unknown() }),
  z.object({ step: z.literal('sign-ins-received'), outcomes: z.array(SignInOutcome) }),
  z.object({
    step: z.literal('sign-ins'),
    content: SignIns,
    problems: z.array(z.object({ name: z.string(), reason: z.string() })),
  }),
  z.object({ step: z.literal('failed'), message: z.string(), hint: z.optional(z.string()) }),
]);
export type TransferMessage = z.infer<typeof TransferMessage>;
