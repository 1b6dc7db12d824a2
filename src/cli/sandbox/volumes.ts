import type { Readable, Writable } from 'node:stream';
import { VOLUME_MARKER } from '../../agent-dir/index.ts';
import type { CreateResult, Engine } from '../../engine/index.ts';
import { OperationError } from '../../lib/errors.ts';
import { removeWhenInterrupted } from './interruption.ts';
import { OLD_HISTORY, readOldHistoryAnswers, sortRequest, tellSorted } from './old-history.ts';
import { domainLabels, LABELS, type Sandbox } from './sandbox.ts';

/** Side by side, so that no mount hides another's root directory. */
const TARGETS = {
  agentState: '/volumes/agent-state',
  sessions: '/volumes/sessions',
  domainState: '/volumes/domain-state',
};

/**
 * Prepares empty volumes for a user: the root directory's owner and the marker. The marker comes first, for an engine
 * gives an empty volume the image's owner at any mount, and gets its own owner last: until then the next start does it
 * again. A volume that holds any other file was prepared, or made by somebody else and is adopted as it is (S1). Then the
 * history from before domains had their own is sorted: see `old-history.ts`.
 * Arguments: owner, the program's request, then one directory each.
 */
const PREPARE = `
set -eu
owner=$1 request=$2; shift 2
for root in "$@"; do
  marker=$root/${VOLUME_MARKER}
  if [ -z "$(find "$root" -xdev -mindepth 1 ! -type d ! \\( -path "$marker" -uid 0 \\) -print -quit)" ]; then
    : > "$marker"
    chown -h "$owner" "$root"; chmod 0700 "$root"
    chown -h "$owner" "$marker"
  fi
done
${OLD_HISTORY} "$request"
`;

/** True when all three volumes of the sandbox exist. */
export async function volumesExist(engine: Engine, sandbox: Sandbox): Promise<boolean> {
  const found = await Promise.all(Object.values(sandbox.volumes).map((name) => engine.volumes.inspect(name)));
  return found.every((volume) => volume !== undefined);
}

export interface PreparedVolumes {
  /** No sandbox reaches the history from before domains had their own (S12). */
  readonly oldHistoryClosed: boolean;
}

/**
 * Creates the volumes that are missing and prepares the empty ones for the sandbox's user (S1, S2). Any number of
 * starts may do this at once, and one that was killed half way is finished by the next.
 */
export async function createVolumes(
  engine: Engine,
  sandbox: Pick<Sandbox, 'config' | 'domain' | 'user' | 'volumes'>,
  image: string,
): Promise<PreparedVolumes> {
  const { agentState, sessions, domainState } = sandbox.volumes;
  const shared = { ...domainLabels(sandbox, 'agent-state') };
  delete shared[LABELS.domain];
  await Promise.all([
    engine.volumes.create({ name: agentState, labels: shared }),
    engine.volumes.create({ name: sessions, labels: domainLabels(sandbox, 'sessions') }),
    engine.volumes.create({ name: domainState, labels: domainLabels(sandbox, 'domain-state') }),
  ]);
  const { uid, gid } = sandbox.user;
  const request = sortRequest(sandbox.config, sandbox.domain, TARGETS);
  const { value: report, end } = await useHelper(
    engine,
    {
      sandbox,
      image,
      user: '0:0',
      capabilities: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER'],
      command: ['/bin/sh', '-c', PREPARE, 'prepare', `${uid}:${gid}`, request, ...Object.values(TARGETS)],
      mounts: [
        { type: 'volume', source: agentState, target: TARGETS.agentState },
        { type: 'volume', source: sessions, target: TARGETS.sessions },
        { type: 'volume', source: domainState, target: TARGETS.domainState },
      ],
    },
    readOldHistoryAnswers,
  );
  requireHelperSuccess(end);
  tellSorted(report, sandbox);
  return { oldHistoryClosed: report?.step === 'migrated' };
}

const HELPER = 'helper';
/** A helper is started at once; one that was not after this long belongs to a command that died. */
const ABANDONED_MS = 10_000;

/** A helper that was started removes itself; one whose command was killed before that would stay for ever. */
export async function removeAbandonedHelpers(engine: Engine, prefix: string): Promise<void> {
  const helpers = await engine.containers.list({ [LABELS.prefix]: prefix, [LABELS.role]: HELPER });
  const waiting = helpers.filter(({ state }) => state === 'created');
  if (waiting.length === 0) return;
  // The engine gave them their dates, so only its own clock tells their age.
  const { systemTime: now } = await engine.system.info();
  if (now === undefined) return;
  const abandoned = waiting.filter(({ createdAt }) => now - (createdAt ?? now) > ABANDONED_MS);
  await Promise.all(abandoned.map(({ id }) => engine.containers.remove(id)));
}

interface HelperRun {
  sandbox: Pick<Sandbox, 'config'>;
  image: string;
  user: string;
  capabilities: readonly string[];
  command: string[];
  mounts: { type: 'volume'; source: string; target: string; readOnly?: boolean }[];
  /** Its standard input; when this fails the helper is ended. */
  input?: AsyncIterable<Uint8Array>;
}

/** How a helper ended, and what it said on standard error. */
export interface HelperEnd {
  code: number;
  /** The engine's own trouble. */
  error: string | undefined;
  stderr: string;
}

/**
 * Runs a short-lived helper container on volumes of ours: no network, no host path, read-only root, and only the
 * capabilities it is given.
 *
 * @returns its standard output
 */
export async function runHelper(engine: Engine, run: HelperRun): Promise<string> {
  const { value, end } = await useHelper(engine, run, textOf);
  requireHelperSuccess(end);
  return value;
}

/** @throws OperationError with what it said on standard error */
export function requireHelperSuccess({ code, error, stderr }: HelperEnd): void {
  if (code === 0 && error === undefined) return;
  const said = error ?? stderr.trim();
  const reason = said === '' && code > 128 ? 'it was killed' : said;
  throw new OperationError(`a helper container failed with ${code}: ${reason}`, {
    hint: 'nothing of it is half done that the next call does not finish: try again',
  });
}

/** The same, with its standard output handed to `use` as it comes; how it ended is for the caller to judge. */
export async function useHelper<T>(
  engine: Engine,
  run: HelperRun,
  use: (stdout: Readable) => Promise<T>,
): Promise<{ value: T; end: HelperEnd }> {
  const { sandbox, image, user, capabilities, command, mounts, input } = run;
  const [program = '', ...rest] = command;
  const prefix = sandbox.config.INSTALLATION_PREFIX;
  await removeAbandonedHelpers(engine, prefix);
  const creating = engine.containers.create({
    image,
    user,
    entrypoint: [program],
    command: rest,
    labels: { [LABELS.prefix]: prefix, [LABELS.role]: HELPER },
    mounts,
    network: { mode: 'none' },
    limits: { pids: 64, memoryBytes: 256 * 2 ** 20 },
    readOnlyRoot: true,
    capDropAll: true,
    capAdd: capabilities,
    noNewPrivileges: true,
    autoRemove: true,
    discardLogs: true,
    openStdin: input !== undefined,
  });
  const release = removeWhenInterrupted(
    engine,
    creating.then((result) => (result.outcome === 'created' ? result.id : undefined)),
  );
  try {
    return await runToEnd(engine, await creating, use, input);
  } finally {
    release();
  }
}

async function runToEnd<T>(
  engine: Engine,
  created: CreateResult,
  use: (stdout: Readable) => Promise<T>,
  input: AsyncIterable<Uint8Array> | undefined,
): Promise<{ value: T; end: HelperEnd }> {
  if (created.outcome !== 'created') {
    const hint = created.outcome === 'no-such-image' ? 'pi-sandbox image build' : undefined;
    throw new OperationError(`cannot create a helper container: ${created.message}`, { hint });
  }
  try {
    const streams = await engine.containers.attach(created.id);
    const output = Promise.all([use(streams.stdout), textOf(streams.stderr)]);
    // What goes wrong with the output is thrown below, unless the start itself fails before.
    output.catch(() => undefined);
    const { exit } = await engine.containers.watchExit(created.id);
    await engine.containers.start(created.id);
    const feeding = input === undefined ? Promise.resolve() : feed(streams.stdin, input);
    feeding.catch(() => undefined);
    // A helper that ends early takes no more, and says itself why.
    await Promise.race([feeding, output]);
    const [value, stderr] = await output;
    const { code, error } = await exit;
    return { value, end: { code, error, stderr } };
  } finally {
    await engine.containers.remove(created.id, { force: true }).catch(() => undefined);
  }
}

async function feed(stdin: Writable, input: AsyncIterable<Uint8Array>): Promise<void> {
  let over = false;
  const end = new Promise<void>((resolve) => {
    const done = (): void => {
      over = true;
      resolve();
    };
    stdin.once('error', done).once('close', done);
  });
  for await (const piece of input) {
    if (over) return;
    if (stdin.write(piece)) continue;
    await Promise.race([end, new Promise<void>((resolve) => stdin.once('drain', resolve))]);
  }
  if (!over) stdin.end();
}

/** A helper prints little; more than this is cut (rule 7). */
const MAX_OUTPUT = 16 * 1024 * 1024;

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of stream) {
    const bytes = Buffer.from(piece);
    if (length < MAX_OUTPUT) pieces.push(bytes);
    length += bytes.length;
  }
  return Buffer.concat(pieces).toString('utf8');
}
