import { pathsOf } from '../agent-dir/index.ts';
import { messageOf } from '../lib/errors.ts';
import type {
  FrameConnection,
  OpenRequest,
  PresenceRequest,
  RelayRequest,
  RunRequest,
} from '../wire/index.ts';
import { inTime } from './in-time.ts';
import { Living } from './living.ts';
import { sendLogs } from './log-request.ts';
import { memoryUse } from './memory.ts';
import { Preparation } from './preparation.ts';
import { makePipes } from './process/pipes.ts';
import { type ProgramPlaces, type RunningProgram, signalOne } from './process/program.ts';
import { terminalVariables } from './process/terminal-description.ts';
import { strayProcesses } from './processes.ts';
import { listeners } from './relay/listeners.ts';
import { Relays } from './relay/relays.ts';
import { answer, finish, refusal, reply, tell } from './replies.ts';
import { fullPlaces } from './room.ts';
import { relay, startProgram } from './run-request.ts';
import { ForeignVolumeError, type Place } from './sandbox-state.ts';

export interface SupervisorSettings extends Place {
  version: string;
  programs: ProgramPlaces;
  /** What lives in the sandbox gets this long to save its work when the sandbox ends. */
  stopGraceMs: number;
  /** Before any configuration has arrived, the container ends after this long with nothing alive. */
  firstIdleMs: number;
  /** A root shell's container: it has no configuration, is set up in no way, and ends with its first program (S15). */
  bare?: boolean;
  /** The last steps of an end, each of them, get this long: a disk that hangs must not keep the container. */
  closeMs: number;
}

/** What is to end before the sandbox does: a client's program, or a process that announced itself. */
interface Running {
  ended: Promise<unknown>;
  stop: () => void;
  pid?: number;
}

/**
 * The one process that decides in a sandbox: it sets it up, runs programs for clients, knows what lives, and ends the
 * container. All decisions fall in one thread, so none needs a lock.
 */
export class Supervisor {
  private readonly settings: SupervisorSettings;
  private readonly startedAt: Date;
  private readonly living: Living;
  private readonly running = new Set<Running>();
  private readonly relays: Relays;
  private readonly preparation: Preparation;
  private ending: Promise<void> | undefined;

  constructor(settings: SupervisorSettings) {
    this.settings = settings;
    this.startedAt = settings.clock.now();
    this.living = new Living(settings.clock, settings.firstIdleMs, () => void this.end('idle'));
    this.relays = new Relays({
      runtime: settings.roots.runtime,
      clock: settings.clock,
      note: (event, facts) => this.note(event, facts),
    });
    this.preparation = new Preparation(settings, this.living, () => this.ending !== undefined);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.settleEnded = resolve;
  }

  /** Settles when the container may go. Never rejects. */
  readonly ended: Promise<void>;
  private readonly settleEnded: () => void;

  /** Serves one request to its end. */
  async serve(connection: FrameConnection, request: OpenRequest): Promise<void> {
    if (this.ending !== undefined && request.verb !== 'status')
      return answer(connection, { answer: 'closing' });
    switch (request.verb) {
      case 'run':
        return this.run(connection, request);
      case 'presence':
        return this.present(connection, request);
      case 'status':
        return answer(connection, { answer: 'accepted', value: this.status() });
      case 'logs':
        await inTime(this.settings.closeMs, Promise.resolve(this.preparation.state?.log.flush()));
        return sendLogs(connection, this.preparation.state?.log.path, request);
      case 'stop-when-idle':
        await answer(connection, { answer: 'accepted', value: this.status() });
        this.living.endWhenIdle();
        return;
      case 'relay':
        return this.relay(connection, request);
      case 'changes':
        return this.preparation.answerChanges(connection);
      case 'listeners':
        return answer(connection, { answer: 'accepted', value: listeners() });
      case 'stop':
        await answer(connection, { answer: 'accepted' });
        return this.end(request.reason);
    }
  }

  /** A line for the sandbox's log, if there is one yet. */
  note(event: string, facts: Record<string, unknown>): void {
    this.preparation.state?.log.write(event, facts);
  }

  /** Ends everything that lives, gives it time to save, writes the last log line, and lets the container go. */
  end(reason: string): Promise<void> {
    this.ending ??= this.endOnce(reason).finally(this.settleEnded);
    return this.ending;
  }

  /** Every step is bounded, and none that fails keeps the next from being made. */
  private async endOnce(reason: string): Promise<void> {
    const { stopGraceMs, closeMs } = this.settings;
    this.note('ending', { reason, living: this.living.list().length });
    const asked = new Set<number | undefined>();
    for (const { pid, stop } of this.running) {
      // A Session is announced by the very pi that is a client's program: asked twice it might not save.
      if (pid === undefined || !asked.has(pid)) stop();
      asked.add(pid);
    }
    const all = Promise.all([...this.running].map(({ ended }) => ended));
    const saved = await inTime(stopGraceMs, all);
    if (saved !== 'done') this.note('not-ended', { reason: saved, after: stopGraceMs });
    const closed = await inTime(closeMs, Promise.resolve(this.preparation.state?.close()));
    if (closed !== 'done') this.note('not-closed', { reason: closed });
    this.note('ended', { reason });
    await inTime(closeMs, Promise.resolve(this.preparation.state?.log.flush()));
  }

  private async run(connection: FrameConnection, request: RunRequest): Promise<void> {
    const client = this.living.add({ kind: 'client', id: request.id, name: request.program });
    const { promise: ended, resolve: settle } = Promise.withResolvers<void>();
    const running: Running = { ended, stop: () => undefined };
    this.running.add(running);
    let release = (): void => undefined;
    const { socketDirectory } = pathsOf(this.settings.roots);
    const pipes = request.terminal === undefined ? makePipes(socketDirectory) : undefined;
    try {
      await this.preparation.prepare(connection, request);
      // The end may have begun while the configuration came; if it begins later, the program is asked to end below.
      if (this.ending !== undefined) return await answer(connection, { answer: 'closing' });
      release = this.preparation.state?.useMerge() ?? release;
      await this.relays.offer(request.services ?? []);
      const program = await startProgram(
        connection,
        request,
        this.environmentOf(request),
        this.settings.programs,
        pipes,
      );
      await reply(connection, { answer: 'accepted' });
      if (program === undefined) return await commandNotFound(connection, request);
      client.pid = program.pid;
      running.pid = program.pid;
      running.stop = () => program.signal(stopSignal(request));
      if (this.ending !== undefined) running.stop();
      await this.relayToEnd(connection, request, program);
    } catch (error) {
      await answer(connection, refusal(error));
      // A container that never came to be is of no use to the next start either, unless only its volumes are not ready:
      // whoever is told so prepares them and comes again, and one container is enough for that (S14).
      const last = this.living.list().length === 1 && !(error instanceof ForeignVolumeError);
      if (this.preparation.state === undefined && last) void this.end(`set-up failed: ${messageOf(error)}`);
    } finally {
      void pipes?.remove();
      release();
      this.running.delete(running);
      settle();
      this.living.remove(client);
      if (this.settings.bare === true) void this.end('its program has ended');
    }
  }

  private async relayToEnd(
    connection: FrameConnection,
    request: RunRequest,
    program: RunningProgram,
  ): Promise<void> {
    this.note('started', { id: request.id, program: request.program, pid: program.pid });
    const exited = await relay(connection, program, request.program === 'pi');
    this.note('exited', { id: request.id, ...exited });
    if (request.program !== 'command') await this.preparation.tellChanges(connection);
    const full = exited.code === 0 ? undefined : fullPlaces(this.settings.roots);
    if (full !== undefined) tell(connection, 'warning', full);
    connection.send({ type: 'exited', value: exited });
    await finish(connection);
  }

  private environmentOf(request: RunRequest): NodeJS.ProcessEnv {
    return {
      ...process.env,
      ...this.preparation.environment(),
      ...this.relays.environment(),
      ...request.environment,
      ...terminalVariables(request, this.settings.roots.memory),
    };
  }

  private async present(connection: FrameConnection, request: PresenceRequest): Promise<void> {
    const { kind, id, name, pid } = request;
    const thing = this.living.add({ kind, id, pid, ...(name === undefined ? {} : { name }) });
    const release = this.preparation.state?.useMerge();
    const running = { pid, ended: connection.closed, stop: () => void signalOne(pid, 'SIGTERM') };
    this.running.add(running);
    connection.onFrame(() => undefined);
    await reply(connection, { answer: 'accepted' });
    await connection.closed;
    release?.();
    this.running.delete(running);
    this.living.remove(thing);
  }

  /** A `forward` is a client like any other; services alone keep no sandbox running (S14). */
  private async relay(connection: FrameConnection, request: RelayRequest): Promise<void> {
    if (request.kind === 'services') return this.relays.serve(connection, request);
    const client = this.living.add({ kind: 'client', id: 'forward', name: 'forward' });
    await this.relays.serve(connection, request).finally(() => this.living.remove(client));
  }

  private status(): unknown {
    const living = this.living.list();
    return {
      version: this.settings.version,
      startedAt: this.startedAt.toISOString(),
      living,
      stray: strayProcesses(living.flatMap(({ pid }) => (pid === undefined ? [] : [pid]))),
      memory: memoryUse(),
    };
  }
}

/** An interactive bash takes no SIGTERM; the loss of its terminal it hands on to its jobs. */
function stopSignal(request: RunRequest): 'SIGHUP' | 'SIGTERM' {
  return request.program === 'shell' && request.terminal !== undefined ? 'SIGHUP' : 'SIGTERM';
}

async function commandNotFound(connection: FrameConnection, request: RunRequest): Promise<void> {
  const text = `pi-sandbox: ${request.arguments[0] ?? ''}: command not found in the sandbox\n`;
  connection.send({ type: 'error-data', bytes: Buffer.from(text) });
  connection.send({ type: 'exited', value: { code: 127, signal: null } });
  await finish(connection);
}
