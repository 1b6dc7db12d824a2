/** `relays/` in the configuration directory: what is relayed to which sandbox, and how relays ended (S10). */
import { readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as z from 'zod/mini';
import type { Engine } from '../../engine/index.ts';
import { makeStateDirectory, writeFileAtomic } from '../../lib/atomic-file.ts';
import { readRegularFile } from '../../lib/bounded-read.ts';
import type { Clock } from '../../lib/clock.ts';
import { hasCode, OperationError } from '../../lib/errors.ts';
import { appendJsonLine } from '../../lib/jsonl.ts';
import { isHeld } from '../../lib/kernel-lock.ts';
import { RelayService } from '../../wire/index.ts';

const VERSION = 1;
const MAX_BYTES = 64 * 1024;
/** A longer log is begun anew: a line is written only when something went wrong. */
const MAX_LOG_BYTES = 64 * 1024;

/**
 * What a relay serves now. Each start that asks for the service writes it anew, and the relay reads it for each question:
 * so a new login's agent takes the place of one that is gone.
 */
const RelayState = z.object({
  version: z.literal(VERSION),
  container: z.string().check(z.regex(/^[0-9a-f]{12,64}$/)),
  /** The address of the engine that has the container. */
  engine: z.string(),
  /** The container's name. */
  sandbox: z.string(),
  service: RelayService,
  /** `SSH_AUTH_SOCK` of the user. */
  agentSocket: z.optional(z.string()),
  /** For whom credentials are given. */
  hosts: z.optional(z.array(z.string())),
});
export type RelayState = z.infer<typeof RelayState>;

/** What of the user's machine a start lets its sandbox reach (S10). */
export type ServiceOffer = Pick<RelayState, 'service' | 'agentSocket' | 'hosts'>;

export function relayFile(
  directory: string,
  { container, service }: Pick<RelayState, 'container' | 'service'>,
): string {
  return join(directory, 'relays', `${container.slice(0, 12)}-${service}.json`);
}

/** @returns its file, beside which its lock is held by the process that serves it */
export async function writeRelayState(
  directory: string,
  state: Omit<RelayState, 'version'>,
): Promise<string> {
  const file = relayFile(directory, state);
  await makeStateDirectory(dirname(file));
  await writeFileAtomic(file, `${JSON.stringify({ version: VERSION, ...state })}\n`);
  return file;
}

/** @throws OperationError when it is damaged, or of another version */
export async function readRelayState(file: string): Promise<RelayState> {
  const content = await readRegularFile(file, { maxBytes: MAX_BYTES });
  const parsed = RelayState.safeParse(parsedJson(content?.toString('utf8') ?? ''));
  if (!parsed.success) throw new OperationError(`${file} is not what a relay needs`);
  return parsed.data;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function lockOf(file: string): string {
  return `${file}.lock`;
}

/** The container's id never comes back, so neither file has a successor that this could take away. */
export async function removeRelayState(file: string): Promise<void> {
  await Promise.all([rm(file, { force: true }), rm(lockOf(file), { force: true })]);
}

/** What is written down, damaged files left out. */
async function allStates(relays: string): Promise<{ file: string; state: RelayState }[]> {
  const names = await readdir(relays).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  });
  const found = [];
  for (const name of names.filter((each) => each.endsWith('.json'))) {
    const file = join(relays, name);
    const state = await readRelayState(file).catch(() => undefined);
    if (state !== undefined) found.push({ file, state });
  }
  return found;
}

/** What is relayed to the sandbox of this name that is there now, or was until its relay was killed. */
export async function relaysOf(directory: string, engine: Engine, sandbox: string): Promise<RelayState[]> {
  const named = (await allStates(join(directory, 'relays')))
    .map(({ state }) => state)
    .filter((state) => state.sandbox === sandbox && state.engine === engine.address);
  if (named.length === 0) return [];
  const found = await engine.containers.inspect(sandbox);
  return named.filter(({ container }) => container === found?.id);
}

/** What relays that were killed have left of sandboxes that are gone. Another engine's are for its own relays to judge. */
export async function removeOldStates(engine: Engine, own: string, signal: AbortSignal): Promise<void> {
  for (const { file, state } of await allStates(dirname(own))) {
    if (signal.aborted) return;
    if (file === own || state.engine !== engine.address || isHeld(lockOf(file))) continue;
    if ((await engine.containers.inspect(state.container)) === undefined) await removeRelayState(file);
  }
}

/** Says in `relays/log.jsonl` why a relay ended while its sandbox may still run: nobody sees its output. */
export async function noteRelayEnd(file: string, reason: string, clock: Clock): Promise<void> {
  const log = join(dirname(file), 'log.jsonl');
  const size = await stat(log).then(
    (facts) => facts.size,
    (error: unknown) => {
      if (hasCode(error, 'ENOENT')) return 0;
      throw error;
    },
  );
  if (size > MAX_LOG_BYTES) await rm(log, { force: true });
  const relay = basename(file, '.json');
  await appendJsonLine(log, { at: clock.now().toISOString(), event: 'relay-ended', relay, reason });
}
