/**
 * What `selftest` asks of the program that looks at a sandbox from inside, and what that answers (S16). The answer
 * comes out of the sandbox and is hostile input: every part of it is bounded, and judged on the host.
 *
 * The schemas are made when they are called for: every command and every supervisor loads this room.
 */
import * as z from 'zod/mini';

export const SELFTEST_VERSION = 1;

/** More than this of the answer is not read. */
export const SELFTEST_ANSWER_BYTES = 4 * 1024 * 1024;
/** How many of each are asked for or told at most. */
export const SELFTEST_LIMITS = {
  links: 1_000,
  directories: 50,
  addresses: 64,
  mounts: 500,
  names: 100,
} as const;

const text = () => z.string().check(z.maxLength(8_192));
const word = () => z.string().check(z.maxLength(256));

export function selftestRequest() {
  return z.object({
    version: z.literal(SELFTEST_VERSION),
    /** Paths that should be links. */
    links: z.array(text()).check(z.maxLength(SELFTEST_LIMITS.links)),
    /** Directories whose owner is asked. */
    directories: z.array(text()).check(z.maxLength(SELFTEST_LIMITS.directories)),
    project: text(),
    /** Mount of the domain's history. */
    sessions: text(),
    /** Addresses of the installation's other sandboxes: none of them may be reached. */
    addresses: z.array(word()).check(z.maxLength(SELFTEST_LIMITS.addresses)),
    /** A name that the sandbox's resolver is asked for. */
    resolve: word(),
  });
}
export type SelftestRequest = z.infer<ReturnType<typeof selftestRequest>>;

function mountFacts() {
  return z.object({
    target: text(),
    type: word(),
    /** The part of its file system that is mounted. */
    root: text(),
    /** Options of the mount and of its file system. */
    options: z.array(word()).check(z.maxLength(100)),
    /** Size in bytes. */
    size: z.optional(z.number()),
  });
}

function sessionFacts() {
  return z.object({
    /** pi wrote a Session of ours into the domain's history; its file, and why not. */
    file: z.optional(text()),
    /** The Session's kernel lock was held while pi had it open, and free again afterwards. */
    lockHeld: z.boolean(),
    lockFreed: z.boolean(),
    /** The supervisor listed it as living here. */
    present: z.boolean(),
    /** Another pi found it by its id and continued it. */
    continued: z.boolean(),
    /** It was removed again. */
    removed: z.boolean(),
    /** The first thing that went wrong. */
    problem: z.optional(text()),
  });
}

function jobFacts() {
  return z.object({
    /** It ended as done, with a result. */
    done: z.boolean(),
    removed: z.boolean(),
    /** The first thing that went wrong. */
    problem: z.optional(text()),
  });
}

export function selftestFacts() {
  return z.object({
    version: z.literal(SELFTEST_VERSION),
    user: z.object({
      name: word(),
      uid: z.int(),
      gid: z.int(),
      home: text(),
      groups: z.array(z.int()).check(z.maxLength(SELFTEST_LIMITS.names)),
    }),
    process: z.object({
      /** Hexadecimal masks as the kernel prints them: inheritable, permitted, effective, bounding, ambient. */
      capabilities: z.record(z.enum(['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']), word()),
      noNewPrivileges: word(),
      seccomp: word(),
    }),
    /** The error code of a write to the root file system, or `written`. */
    rootWrite: word(),
    /** As the kernel tells them, in bytes and processes; `max` is none. */
    limits: z.object({ memory: z.optional(word()), pids: z.optional(word()) }),
    mounts: z.array(mountFacts()).check(z.maxLength(SELFTEST_LIMITS.mounts)),
    /** Where each path asked for leads; null where no link is. */
    links: z.record(text(), z.nullable(text())),
    owners: z.record(text(), z.nullable(z.object({ uid: z.int(), gid: z.int() }))),
    /** Sockets of engines that can be seen. */
    engineSockets: z.array(text()).check(z.maxLength(SELFTEST_LIMITS.names)),
    /** The error code of a write into the project, or `written`. */
    projectWrite: word(),
    interfaces: z.array(word()).check(z.maxLength(SELFTEST_LIMITS.names)),
    /** How a connection to each address ended. */
    connections: z.record(word(), word()),
    resolver: z.object({
      servers: z.array(word()).check(z.maxLength(SELFTEST_LIMITS.names)),
      /** `answers`, or the error's code. */
      answer: word(),
    }),
    piVersion: text(),
    certificates: z.object({
      /** Certificates in the bundle of the host, and those of them that Node has loaded. */
      bundled: z.int(),
      loaded: z.int(),
    }),
    session: sessionFacts(),
    job: jobFacts(),
    /** What the sandbox was told of how long Sessions stay, in days; absent when it was told nothing. */
    retention: z.optional(z.object({ days: z.int(), trashDays: z.int() })),
  });
}
export type SelftestFacts = z.infer<ReturnType<typeof selftestFacts>>;
