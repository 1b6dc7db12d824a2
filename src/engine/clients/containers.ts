import { TimeoutError } from '../../lib/errors.ts';
import type { ContainerSpec } from '../container-spec.ts';
import { createBody } from '../create-body.ts';
import { EngineError, NoSuchNetworkError } from '../errors.ts';
import { hostUlimits } from '../host-limits.ts';
import { type EngineAnswer, pathOf, type Transport } from '../transport.ts';
import {
  type ContainerInfo,
  type ContainerSummary,
  containerInfo,
  containerSummary,
} from './container-info.ts';
import { type ExecRequest, type ExecResult, startExec } from './exec.ts';
import { hasLabels, type LabelFilter, labelFilters, number, object, objects, text, texts } from './fields.ts';
import { type ProgramStreams, programStreams } from './streams.ts';

export type CreateResult =
  | { outcome: 'created'; id: string; warnings: string[] }
  | { outcome: 'conflict' | 'no-such-image' | 'no-such-network'; message: string };

export type StartResult =
  | { outcome: 'started' | 'already-started' }
  | { outcome: 'gone' | 'dying' | 'no-such-network'; message: string };

/** How a container ended; `error` is the engine's own trouble, such as a program that is not there. */
export interface ContainerExit {
  code: number;
  error: string | undefined;
}

export interface ContainerClient {
  /** Creating a name is also the lock on it: of several creators one gets `created`, the others `conflict`. */
  create(spec: ContainerSpec): Promise<CreateResult>;
  start(id: string): Promise<StartResult>;
  /**
   * Before `start`, so that nothing is missed.
   * @throws NoSuchNetworkError
   */
  attach(id: string): Promise<ProgramStreams>;
  /**
   * To be called before `start`, and waited for: resolves when the engine watches, with what resolves when the container
   * has ended. One that ends at once could otherwise be gone before the engine begins to watch it.
   */
  watchExit(id: string): Promise<{ exit: Promise<ContainerExit> }>;
  /** @throws TimeoutError when it is still there after `timeoutMs` */
  waitRemoved(id: string, timeoutMs: number): Promise<void>;
  /** By id or name; undefined when there is none. */
  inspect(id: string): Promise<ContainerInfo | undefined>;
  /** In every state; an undefined value asks only that the label is there. */
  list(labels: LabelFilter): Promise<ContainerSummary[]>;
  /** SIGTERM to PID 1, then SIGKILL after `timeoutSeconds`. */
  stop(id: string, timeoutSeconds: number): Promise<'stopped' | 'not-running' | 'gone'>;
  kill(id: string, signal?: string): Promise<'sent' | 'not-running' | 'gone'>;
  remove(id: string, options?: { force?: boolean }): Promise<'removed' | 'removing' | 'gone' | 'running'>;
  /** Runs a program in a running container, always without a TTY (reference: exec). */
  exec(id: string, request: ExecRequest): Promise<ExecResult>;
  /** What it uses now, in bytes; undefined when it does not run. */
  memoryUsage(id: string): Promise<number | undefined>;
}

export function containerClient(transport: Transport): ContainerClient {
  const call = transport.call;
  return {
    create: (spec) => create(transport, spec),
    start: (id) => start(transport, id),
    attach: (id) => attach(transport, id),
    watchExit: (id) => watchExit(transport, id),
    waitRemoved: (id, timeoutMs) => waitRemoved(transport, id, timeoutMs),
    async inspect(id) {
      const answer = await call({ method: 'GET', path: pathOf`/containers/${id}/json` });
      if (isGone(answer)) return undefined;
      if (answer.status !== 200) throw transport.failure(`cannot inspect container ${id}`, answer);
      return containerInfo(object(answer.json));
    },
    async list(labels) {
      const query = { all: 1, filters: labelFilters(labels) };
      const answer = await call({ method: 'GET', path: '/containers/json', query });
      if (answer.status !== 200) throw transport.failure('cannot list containers', answer);
      return objects(answer.json)
        .map(containerSummary)
        .filter((container) => hasLabels(container.labels, labels));
    },
    async stop(id, timeoutSeconds) {
      const timeoutMs = (timeoutSeconds + 30) * 1000;
      const answer = await call({
        method: 'POST',
        path: pathOf`/containers/${id}/stop`,
        query: { t: timeoutSeconds },
        timeoutMs,
      });
      if (isGone(answer)) return 'gone';
      if (answer.status === 304) return 'not-running';
      if (answer.status !== 204) throw transport.failure(`cannot stop container ${id}`, answer);
      return 'stopped';
    },
    async kill(id, signal = 'SIGKILL') {
      const answer = await call({ method: 'POST', path: pathOf`/containers/${id}/kill`, query: { signal } });
      if (isGone(answer)) return 'gone';
      if (answer.status === 409 || isNotRunning(answer)) return 'not-running';
      if (answer.status !== 204) throw transport.failure(`cannot send ${signal} to container ${id}`, answer);
      return 'sent';
    },
    async remove(id, { force = false } = {}) {
      const answer = await call({
        method: 'DELETE',
        path: pathOf`/containers/${id}`,
        query: { force, v: false },
      });
      if (isGone(answer)) return 'gone';
      if (/already in progress|being removed/.test(answer.message)) return 'removing';
      if (!force && (answer.status === 409 || /is running|in state running/.test(answer.message)))
        return 'running';
      if (answer.status !== 204 && answer.status !== 200)
        throw transport.failure(`cannot remove container ${id}`, answer);
      return 'removed';
    },
    exec: (id, request) => startExec(transport, id, request),
    memoryUsage: (id) => memoryUsage(transport, id),
  };
}

/** Podman answers 500 where the container goes while it is being looked up. */
function isGone({ status, message }: { status: number; message: string }): boolean {
  return status === 404 || (status >= 400 && /no such container/i.test(message));
}

async function create(transport: Transport, spec: ContainerSpec): Promise<CreateResult> {
  const kind = await transport.kind();
  const ulimits = kind === 'podman' && transport.local ? await hostUlimits() : [];
  const body = createBody(spec, { kind, ulimits });
  const answer = await transport.call({
    method: 'POST',
    path: '/containers/create',
    query: { name: spec.name },
    body,
  });
  const { status, message } = answer;
  if (status === 201) {
    const { Id, Warnings } = object(answer.json);
    return { outcome: 'created', id: text(Id), warnings: texts(Warnings) };
  }
  // Docker says it with 409, Podman 4 with 500.
  if (/already in use/i.test(message)) return { outcome: 'conflict', message };
  if (isNoNetwork(answer)) return { outcome: 'no-such-network', message };
  if (status === 404) return { outcome: 'no-such-image', message };
  throw transport.failure(`cannot create container ${spec.name ?? `of ${spec.image}`}`, answer);
}

async function attach(transport: Transport, id: string): Promise<ProgramStreams> {
  const query = { stream: 1, stdin: 1, stdout: 1, stderr: 1 };
  const path = pathOf`/containers/${id}/attach`;
  try {
    return programStreams(await transport.upgrade({ method: 'POST', path, query }));
  } catch (error) {
    if (!(error instanceof EngineError) || !isNoNetwork(error)) throw error;
    throw new NoSuchNetworkError(error.engine, error.message, { status: error.status, cause: error });
  }
}

async function start(transport: Transport, id: string): Promise<StartResult> {
  const answer = await transport.call({ method: 'POST', path: pathOf`/containers/${id}/start` });
  const { status, message } = answer;
  if (status === 204) return { outcome: 'started' };
  if (status === 304) return { outcome: 'already-started' };
  if (isNoNetwork(answer)) return { outcome: 'no-such-network', message };
  // 404 is also "the program does not exist", which the caller must see in full.
  if (/no such container/i.test(message)) return { outcome: 'gone', message };
  if (status === 409 || /marked for removal|removing|stopping/i.test(message))
    return { outcome: 'dying', message };
  throw transport.failure(`cannot start container ${id}`, answer);
}

async function watchExit(transport: Transport, id: string): Promise<{ exit: Promise<ContainerExit> }> {
  const request = waitRequest(id, 'next-exit', Number.POSITIVE_INFINITY);
  const { answer } = await transport.begin(request);
  const exit = answer.then((ended) => {
    if (ended.status !== 200) throw transport.failure(`cannot wait for container ${id}`, ended);
    const { StatusCode, Error: error } = object(ended.json);
    return { code: number(StatusCode), error: text(object(error).Message) || undefined };
  });
  exit.catch(() => undefined);
  return { exit };
}

async function waitRemoved(transport: Transport, id: string, timeoutMs: number): Promise<void> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const answer = await transport.call({ ...waitRequest(id, 'removed', Number.POSITIVE_INFINITY), signal });
    if (answer.status !== 200 && answer.status !== 404) {
      throw transport.failure(`cannot wait for container ${id}`, answer);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new TimeoutError(`container ${id} was not removed within ${timeoutMs / 1000} s`, { cause: error });
  }
}

function waitRequest(id: string, condition: 'next-exit' | 'removed', timeoutMs: number) {
  return { method: 'POST', path: pathOf`/containers/${id}/wait`, query: { condition }, timeoutMs } as const;
}

async function memoryUsage(transport: Transport, id: string): Promise<number | undefined> {
  const query = { stream: false, 'one-shot': true };
  const answer = await transport.call({
    method: 'GET',
    path: pathOf`/containers/${id}/stats`,
    query,
    timeoutMs: 5_000,
  });
  if (answer.status !== 200) return undefined;
  const { usage, stats } = object(object(answer.json).memory_stats);
  // As docker's own CLI counts: without the file cache that can be dropped at any time (cgroup v1, then v2).
  const cache = object(stats).total_inactive_file ?? object(stats).inactive_file;
  return typeof usage === 'number' ? Math.max(0, usage - number(cache)) : undefined;
}

/** Docker finds a container's network by name only when it starts: two of the name are as bad as none. */
function isNoNetwork({ message }: { message: string }): boolean {
  return /network .*(not found|is ambiguous)|unable to find network|no such network/i.test(message);
}

function isNotRunning({ message }: EngineAnswer): boolean {
  return /is not running|can only kill running/i.test(message);
}
