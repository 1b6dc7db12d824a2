/**
 * What the host's command and a sandbox's supervisor say to each other inside frames (S14, S15, S21, H2).
 *
 * A connection carries one request: `hello` both ways, then the client's `open`, then the frames of that
 * request's kind until `exited`, `reply` or the end of the stream. All of it is JSON checked by the schemas here;
 * a peer with another {@link PROTOCOL} version is told so and nothing is opened.
 */
import * as z from 'zod/mini';
import { ListenersRequest, RelayRequest, RelayService } from './relay.ts';

/** Raised when a frame or a request changes its meaning. Additions that an old peer may ignore do not count. */
export const PROTOCOL = 1;

/** Upper bounds of what a peer may send in one request; more is refused with a message (rule 7). */
export const LIMITS = {
  /** Arguments of one program. */
  arguments: 4_096,
  /** Bytes of one string (argument, variable, path): the kernel's own limit for one argument. */
  string: 131_072,
  /** Bytes of the merged configuration's tar. */
  merge: 64 * 1024 * 1024,
  /** Terminal size, columns or rows. */
  terminal: 10_000,
} as const;

const text = z.string().check(z.maxLength(LIMITS.string));
const size = z.int().check(z.minimum(1), z.maximum(LIMITS.terminal));

export const TerminalSize = z.object({ columns: size, rows: size });
export type TerminalSize = z.infer<typeof TerminalSize>;

export const Hello = z.object({
  protocol: z.int(),
  /** Version of the sender's package, for messages only. */
  version: text,
  /** On a socket: the content of the supervisor's token file. Absent on the container's own standard input. */
  token: z.optional(text),
});
export type Hello = z.infer<typeof Hello>;

/** The tar of the merged configuration follows the request in `blob` frames, in all `length` bytes. */
export const MergeAnnouncement = z.object({
  length: z.int().check(z.minimum(0), z.maximum(LIMITS.merge)),
  sha256: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
});
export type MergeAnnouncement = z.infer<typeof MergeAnnouncement>;

/** A terminal's name, which is also a file's. */
export const TERMINAL_NAME = /^[A-Za-z0-9][A-Za-z0-9+._-]{0,63}$/;

/** The compiled description of the user's terminal, for one that the image does not know (S20). */
export const TerminalDescription = z.object({
  name: z.string().check(z.regex(TERMINAL_NAME)),
  /** Base 64. */
  content: z.string().check(z.maxLength(64 * 1024)),
});
export type TerminalDescription = z.infer<typeof TerminalDescription>;

export const RunRequest = z.object({
  verb: z.literal('run'),
  /** Random, chosen by the client: how it names this process in later requests and messages. */
  id: z.string().check(z.regex(/^[0-9a-f]{32}$/)),
  /** `pi` goes through the image's launcher, `shell` is an interactive bash, `command` is `arguments` as they are. */
  program: z.enum(['pi', 'shell', 'command']),
  arguments: z.array(text).check(z.maxLength(LIMITS.arguments)),
  directory: text,
  /** Added to the sandbox's own environment, for this process only (credentials travel here, S10). */
  environment: z.record(z.string(), text),
  /** Present: the process gets a pseudo-terminal of this size. Absent: pipes, byte for byte. */
  terminal: z.optional(TerminalSize),
  terminalDescription: z.optional(TerminalDescription),
  /** Present: replace the sandbox's merged configuration before the process starts (S8). */
  merge: z.optional(MergeAnnouncement),
  /** The host has tried to sort the old history; whatever came of it, the start goes on (S12). */
  oldHistoryTried: z.optional(z.boolean()),
  /** It is out of every sandbox's reach: whatever stands in its place now is something else. */
  oldHistoryClosed: z.optional(z.boolean()),
  /** What this program and later ones may reach through a relay, which the host opens at the same time (S10). */
  services: z.optional(z.array(RelayService).check(z.maxLength(8))),
});
export type RunRequest = z.infer<typeof RunRequest>;

/** Asks what lives in the sandbox; answered by one `reply` frame with a {@link SandboxStatus}. */
export const StatusRequest = z.object({ verb: z.literal('status') });

/** Asks for the last bytes of the supervisor's log; answered by `data` frames and `exited`. */
export const LogsRequest = z.object({
  verb: z.literal('logs'),
  tail: z.int().check(z.minimum(0), z.maximum(100_000)),
  follow: z.boolean(),
});
export type LogsRequest = z.infer<typeof LogsRequest>;

/** Ends the sandbox as `stop` does; answered by `reply` before it begins. */
export const StopRequest = z.object({ verb: z.literal('stop'), reason: text });

/**
 * Ends the sandbox as soon as nothing lives in it, for good: who joins before that is served, and does not undo it.
 * Answered by `reply` with the {@link SandboxStatus} at that moment.
 */
export const StopWhenIdleRequest = z.object({ verb: z.literal('stop-when-idle') });

/**
 * Says "I live in this sandbox" for as long as the connection is open: the kernel closes it when the process
 * dies, so the supervisor needs no polling to know when the last Session, job or run has ended (S14).
 */
export const PresenceRequest = z.object({
  verb: z.literal('presence'),
  kind: z.enum(['session', 'job', 'run', 'daemon']),
  id: text,
  name: z.optional(text),
  pid: z.int(),
});
export type PresenceRequest = z.infer<typeof PresenceRequest>;

/** Asks what sessions changed in the merged configuration; answered by one `reply` frame with {@link KeptChanges} (S8). */
export const ChangesRequest = z.object({ verb: z.literal('changes') });

/** Changes with their values, as far as they can be kept. */
export const KeptChanges = z
  .array(
    z.object({
      file: z.string().check(z.maxLength(40)),
      /** Keys from the top; none for a file that is taken whole. */
      path: z.array(z.string().check(z.maxLength(1_000))).check(z.maxLength(2)),
      /** Absent: the key is gone. A whole file's text is a string. */
      value: z.optional(z.unknown()),
    }),
  )
  .check(z.maxLength(500));
export type KeptChanges = z.infer<typeof KeptChanges>;

export const OpenRequest = z.discriminatedUnion('verb', [
  RunRequest,
  StatusRequest,
  LogsRequest,
  StopRequest,
  StopWhenIdleRequest,
  PresenceRequest,
  RelayRequest,
  ListenersRequest,
  ChangesRequest,
]);
export type OpenRequest = z.infer<typeof OpenRequest>;

/**
 * The answer to `open`. After `accepted` the sandbox will not end before the request does; `closing` means that it
 * is ending and the client starts over; `refused` is final and says why.
 */
export const OpenReply = z.discriminatedUnion('answer', [
  z.object({
    answer: z.literal('accepted'),
    /** What was asked for, where that is one value (`status`, `listeners`, `changes`); the verb says its schema. */
    value: z.optional(z.unknown()),
  }),
  z.object({ answer: z.literal('closing') }),
  z.object({
    answer: z.literal('refused'),
    message: text,
    hint: z.optional(text),
    exitCode: z.int(),
    /** A volume belongs to another user, or was never prepared (S2). */
    reason: z.optional(z.literal('foreign-volume')),
  }),
]);
export type OpenReply = z.infer<typeof OpenReply>;

/** A line for the user's standard error while a request runs. */
export const Status = z.object({ level: z.enum(['info', 'warning']), text });
export type Status = z.infer<typeof Status>;

export const SignalName = z.enum(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGKILL', 'SIGUSR1', 'SIGUSR2']);
export type SignalName = z.infer<typeof SignalName>;

export const Signal = z.object({ signal: SignalName });
export const OutputClosed = z.object({ stream: z.enum(['stdout', 'stderr']) });
export const Detached = z.object({ reason: text, reattach: z.optional(text) });

export const Exited = z.object({
  /** The program's own exit code, or null when a signal ended it. */
  code: z.nullable(z.int()),
  signal: z.nullable(z.string()),
  /** The kernel ended it, or something in the sandbox meanwhile, for lack of memory; `limit` in bytes. */
  outOfMemory: z.optional(z.object({ limit: z.int() })),
});
export type Exited = z.infer<typeof Exited>;

const LivingThing = z.object({
  kind: z.enum(['session', 'job', 'run', 'daemon', 'client']),
  id: text,
  name: z.optional(text),
  pid: z.optional(z.int()),
  since: z.iso.datetime(),
});

export const SandboxStatus = z.object({
  version: text,
  startedAt: z.iso.datetime(),
  living: z.array(LivingThing),
  /** Processes that belong to nothing listed in `living`: shown, never counted (S14). */
  stray: z.array(z.object({ pid: z.int(), command: text })),
  memory: z.object({ used: z.int(), limit: z.nullable(z.int()) }),
});
export type SandboxStatus = z.infer<typeof SandboxStatus>;
