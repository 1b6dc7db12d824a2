/**
 * The process on the user's machine that serves a sandbox's relays (S10). It is one of its own, since a Session and the
 * shells beside it outlive the command that asked for the relay; it ends with the sandbox.
 */
import { spawn } from 'node:child_process';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import * as z from 'zod/mini';
import type { Engine } from '../../engine/index.ts';
import { writeFileAtomic } from '../../lib/atomic-file.ts';
import { readRegularFile } from '../../lib/bounded-read.ts';
import { OperationError } from '../../lib/errors.ts';
import { isHeld, tryLock } from '../../lib/kernel-lock.ts';
import { RelayService } from '../../wire/index.ts';
import { onlyUsingKeys } from './agent-requests.ts';
import { answerQuestion } from './git-credentials.ts';
import { keepRelay } from './relay.ts';
import type { ServiceOffer } from './service-offers.ts';

const STATE_VERSION = 1;
const MAX_STATE_BYTES = 64 * 1024;

/**
 * What a relay serves now. Each start that asks for the service writes it anew, and the relay reads it for each question:
 * so a new login's agent takes the place of one that is gone.
 */
const RelayState = z.object({
  version: z.literal(STATE_VERSION),
  container: z.string().check(z.regex(/^[0-9a-f]{12,64}$/)),
  service: RelayService,
  /** `SSH_AUTH_SOCK` of the user. */
  agentSocket: z.optional(z.string()),
  /** For whom credentials are given. */
  hosts: z.optional(z.array(z.string())),
});
type RelayState = z.infer<typeof RelayState>;

/** Makes sure that a relay process serves this to the sandbox, and that it serves what was asked for last. */
export async function ensureRelay(
  directory: string,
  container: string,
  offer: ServiceOffer,
  engine: string | undefined,
): Promise<void> {
  const relays = join(directory, 'relays');
  await mkdir(relays, { recursive: true, mode: 0o700 });
  const file = stateFile(directory, container, offer.service);
  const state: RelayState = { version: STATE_VERSION, container, ...offer };
  await writeFileAtomic(file, `${JSON.stringify(state)}\n`);
  const [, script = ''] = process.argv;
  const chosen = engine === undefined ? [] : ['--engine', engine];
  const child = spawn(process.execPath, [script, ...chosen, '__relay', file], {
    detached: true,
    stdio: 'ignore',
    cwd: '/',
    env: { ...process.env, PI_SANDBOX_CONFIG_DIR: directory },
  });
  child.once('error', () => undefined);
  child.unref();
}

function stateFile(directory: string, container: string, service: RelayService): string {
  return join(directory, 'relays', `${container.slice(0, 12)}-${service}.json`);
}

/** The whole life of a relay process: nothing if another one serves this sandbox already. */
export async function serveRelay(file: string, engine: Engine, signal: AbortSignal): Promise<void> {
  const lock = tryLock(`${file}.lock`);
  if (lock === undefined) return;
  try {
    const { container, service } = await readState(file);
    await removeOldStates(engine, file);
    await keepRelay({
      engine,
      container,
      request: { verb: 'relay', kind: 'services', services: [service] },
      accept: async (target) => {
        if (target.to !== 'service' || target.service !== service)
          throw new OperationError('this relay does not serve that');
        return service === 'ssh-agent'
          ? dialAgent(await readState(file))
          : credentials(await readState(file));
      },
      onConnected: () => undefined,
      debug: () => undefined,
      signal,
    });
  } finally {
    // The container's id never comes back, so neither file has a successor that this could take away.
    await Promise.all([rm(file, { force: true }), rm(`${file}.lock`, { force: true })]);
    lock.release();
  }
}

async function readState(file: string): Promise<RelayState> {
  const content = await readRegularFile(file, { maxBytes: MAX_STATE_BYTES });
  const parsed = RelayState.safeParse(JSON.parse(content?.toString('utf8') ?? 'null'));
  if (!parsed.success) throw new OperationError(`${file} is not what a relay needs`);
  return parsed.data;
}

function credentials({ hosts = [] }: RelayState): Duplex {
  return answerQuestion(hosts, process.env);
}

function dialAgent({ agentSocket = '' }: RelayState): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: agentSocket, allowHalfOpen: true });
    socket.once('error', () => reject(new OperationError("the user's SSH agent does not answer")));
    socket.once('connect', () => {
      const requests = onlyUsingKeys();
      requests.pipe(socket);
      resolve(Duplex.from({ writable: requests, readable: socket }).on('error', () => undefined));
    });
  });
}

/** What relays that were killed have left: files of sandboxes that are gone. */
async function removeOldStates(engine: Engine, own: string): Promise<void> {
  const directory = join(own, '..');
  for (const name of await readdir(directory)) {
    const id = /^([0-9a-f]{12})-[a-z-]+\.json$/.exec(name)?.[1];
    const path = join(directory, name);
    if (id === undefined || path === own) continue;
    // Its sandbox may be on another engine, which this one knows nothing of.
    if (isHeld(`${path}.lock`)) continue;
    if ((await engine.containers.inspect(id)) !== undefined) continue;
    await Promise.all([rm(path, { force: true }), rm(`${path}.lock`, { force: true })]);
  }
}
