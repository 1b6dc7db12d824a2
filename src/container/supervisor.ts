import type { Roots } from '../agent-dir/index.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf, PiSandboxError } from '../lib/errors.ts';
import type { FrameConnection, OpenReply, OpenRequest, PresenceRequest, RunRequest, Status } from '../wire/index.ts';
import { Living } from './living.ts';
import { sendLogs } from './log-request.ts';
import { memoryUse } from './memory.ts';
import { signalGroup } from './process/program.ts';
import { strayProcesses } from './processes.ts';
import { relay, startProgram } from './run-request.ts';
import { ForeignVolumeError, SandboxState, type User } from './sandbox-state.ts';
import { MergeReceiver } from './setup/merge.ts';
import { describeChanges, sessionChanges } from './setup/session-changes.ts';

/** What lives in the sandbox gets this long to save its work when the sandbox ends. */
const STOP_GRACE_MS = 10_000;
/** Before any configuration has arrived, the container ends after this long with nothing alive. */
const FIRST_IDLE_MS = 60_000;
const MINUTE_MS = 60_000;

/**
 * The one process that decides in a sandbox: it sets it up, runs programs for clients, knows what lives, and ends the
 * container. All decisions fall in one thread, so none needs a lock.
 */
export class Supervisor {
  private readonly roots: Roots;
  private readonly user: User;
  private readonly version: string;
  private readonly clock: Clock;
  private readonly startedAt: Date;
  private readonly living: Living;
  private readonly running = new Map<string, { pid: number; ended: Promise<unknown> }>();
  private state: SandboxState | undefined;
  /** Set-up and merges happen one after the other, however many starts come at once. */
  private preparing: Promise<void> = Promise.resolve();
  private ending: Promise<void> | undefined;
  /** Settles when the container may go. */
  readonly ended: Promise<void>;
  private readonly settleEnded: () => void;

  constructor(roots: Roots, user: User, version: string, clock: Clock) {
    this.roots = roots;
    this.user = user;
    this.version = version;
    this.clock = clock;
    this.startedAt = clock.now();
    this.living = new Living(clock, FIRST_IDLE_MS, () => void this.end('idle'));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.settleEnded = resolve;
  }

  /** Serves one request to its end. */
  async serve(connection: FrameConnection, request: OpenRequest): Promise<void> {
    if (this.ending !== undefined && request.verb !== 'status') return this.answer(connection, { answer: 'closing' });
    switch (request.verb) {
      case 'run':
        return this.run(connection, request);
      case 'presence':
        return this.present(connection, request);
      case 'status':
        return this.answer(connection, { answer: 'accepted', value: this.status() });
      case 'logs':
        return sendLogs(connection, this.state?.log.path, request);
      case 'stop':
        await this.answer(connection, { answer: 'accepted' });
        return this.end(request.reason);
    }
  }

  /** Ends everything that lives, gives it time to save, writes the last log line, and lets the container go. */
  end(reason: string): Promise<void> {
    this.ending ??= this.endOnce(reason);
    return this.ending;
  }

  private async endOnce(reason: string): Promise<void> {
    const pids = this.living.list().flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
    this.state?.log.write('ending', { reason, living: pids.length });
    for (const pid of pids) signalGroup(pid, 'SIGTERM');
    await Promise.race([
      Promise.all([...this.running.values()].map(({ ended }) => ended)),
      new Promise((resolve) => setTimeout(resolve, STOP_GRACE_MS).unref()),
    ]);
    await this.state?.close();
    this.state?.log.write('ended', { reason });
    await this.state?.log.flush();
    this.settleEnded();
  }

  private async run(connection: FrameConnection, request: RunRequest): Promise<void> {
    const client = this.living.add({ kind: 'client', id: request.id, name: request.program });
    const { promise: ended, resolve: settle } = Promise.withResolvers<void>();
    this.running.set(request.id, { pid: 0, ended });
    try {
      await this.prepare(connection, request);
      const program = await startProgram(connection, request, this.environmentOf(request));
      await this.send(connection, { answer: 'accepted' });
      if (program === undefined) return await this.commandNotFound(connection, request);
      client.pid = program.pid;
      this.state?.log.write('started', { id: request.id, program: request.program, pid: program.pid });
      const exited = await relay(connection, program, request.program === 'pi');
      this.state?.log.write('exited', { id: request.id, ...exited });
      if (request.program === 'pi') this.tellChanges(connection);
      connection.send({ type: 'exited', value: exited });
      await connection.end();
    } catch (error) {
      await this.answer(connection, refusal(error));
      // A container that never came to be is of no use to the next start either.
      if (this.state === undefined) void this.end(`set-up failed: ${messageOf(error)}`);
    } finally {
      this.running.delete(request.id);
      settle();
      this.living.remove(client);
    }
  }

  /** The entrypoint's work: the per-container part once, the merge with every start that brings one. */
  private async prepare(connection: FrameConnection, request: RunRequest): Promise<void> {
    if (request.merge === undefined) {
      if (this.state === undefined) throw new Error('the first request of a sandbox must bring its configuration');
      return;
    }
    const { sha256 } = request.merge;
    const tar = await receiveMerge(connection, new MergeReceiver(request.merge));
    const turn = this.preparing.then(() => this.publish(connection, tar, sha256));
    this.preparing = turn.catch(() => undefined);
    await turn;
  }

  private async publish(connection: FrameConnection, tar: Buffer, sha256: string): Promise<void> {
    if (this.state === undefined) {
      this.state = await SandboxState.setUp(this.roots, this.user, tar, sha256, this.clock);
    } else {
      this.tellChanges(connection);
      const replaced = await this.state.replaceMerge(tar, sha256);
      const others = this.living.list().filter(({ kind }) => kind === 'session').length;
      if (replaced && others > 0) {
        tell(connection, 'info', `the configuration has changed; ${others} running session(s) keep what they read`);
      }
    }
    this.living.setIdle(this.state.merge.config.idleStopMinutes * MINUTE_MS);
  }

  private environmentOf(request: RunRequest): NodeJS.ProcessEnv {
    const offline = this.state?.merge.config.packages.length === 0 ? { PI_OFFLINE: '1' } : {};
    return { ...process.env, ...offline, ...request.environment };
  }

  private async commandNotFound(connection: FrameConnection, request: RunRequest): Promise<void> {
    const text = `pi-sandbox: ${request.arguments[0] ?? ''}: command not found in the sandbox\n`;
    connection.send({ type: 'error-data', bytes: Buffer.from(text) });
    connection.send({ type: 'exited', value: { code: 127, signal: null } });
    await connection.end();
  }

  private tellChanges(connection: FrameConnection): void {
    if (this.state === undefined) return;
    const changes = sessionChanges(this.roots, this.state.merge);
    const line = describeChanges(changes);
    if (line === undefined) return;
    this.state.log.write('configuration-changed', { changes });
    tell(connection, 'info', line);
  }

  private async present(connection: FrameConnection, request: PresenceRequest): Promise<void> {
    const { kind, id, name, pid } = request;
    const thing = this.living.add({ kind, id, pid, ...(name === undefined ? {} : { name }) });
    const ended = connection.closed;
    this.running.set(`${kind}:${id}`, { pid, ended });
    await this.send(connection, { answer: 'accepted' });
    connection.onFrame(() => undefined);
    await ended;
    this.running.delete(`${kind}:${id}`);
    this.living.remove(thing);
  }

  private status(): unknown {
    const living = this.living.list();
    return {
      version: this.version,
      startedAt: this.startedAt.toISOString(),
      living,
      stray: strayProcesses(living.flatMap(({ pid }) => (pid === undefined ? [] : [pid]))),
      memory: memoryUse(),
    };
  }

  private async send(connection: FrameConnection, reply: OpenReply): Promise<void> {
    if (!connection.send({ type: 'reply', value: reply })) await connection.drained();
  }

  private async answer(connection: FrameConnection, reply: OpenReply): Promise<void> {
    await this.send(connection, reply);
    await connection.end();
  }
}

function tell(connection: FrameConnection, level: Status['level'], text: string): void {
  connection.send({ type: 'status', value: { level, text } });
}

function refusal(error: unknown): OpenReply {
  const known = error instanceof PiSandboxError ? error : undefined;
  return {
    answer: 'refused',
    message: messageOf(error),
    exitCode: known?.exitCode ?? 1,
    ...(known?.hint === undefined ? {} : { hint: known.hint }),
    ...(error instanceof ForeignVolumeError ? { reason: 'foreign-volume' as const } : {}),
  };
}

async function receiveMerge(connection: FrameConnection, receiver: MergeReceiver): Promise<Buffer> {
  while (!receiver.complete) {
    const frame = await connection.read();
    if (frame === undefined) throw new Error('the client was lost before its configuration had arrived');
    if (frame.type === 'blob') receiver.push(Buffer.from(frame.bytes));
    else throw new Error(`a ${frame.type} frame in the middle of the configuration`);
  }
  return receiver.take();
}
