/** A sandbox without an engine: the real supervisor as a child process, real pipes and sockets, real frames. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pack } from 'tar-stream';
import { onTestFinished } from 'vitest';
import { pathsOf, type Roots } from '../../../src/agent-dir/index.ts';
import {
  type Exited,
  type Frame,
  FrameConnection,
  InputCredit,
  type OpenReply,
  type OpenRequest,
  PROTOCOL,
  type RunRequest,
  sendInput,
} from '../../../src/wire/index.ts';

export const OWN = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

export function temporary(): string {
  const path = mkdtempSync(join(tmpdir(), 'pi-sandbox-container-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** The mounts of a sandbox as directories; `shared` may be another sandbox's. */
export function makeRoots(base = temporary(), shared = `${base}/shared`): Roots {
  const roots = {
    front: `${base}/front`,
    shared,
    domain: `${base}/domain`,
    sessions: `${base}/sessions`,
    memory: `${base}/memory`,
    runtime: `${base}/run`,
  };
  for (const path of Object.values(roots)) mkdirSync(path, { recursive: true, mode: 0o700 });
  return roots;
}

export const CONFIG = {
  version: 1,
  prefix: 't-',
  name: 'box',
  domain: 'work',
  project: '/p',
  idleStopMinutes: 10,
  sharedLinks: [],
  privatePackages: false,
  trustHostCertificates: false,
  packages: [],
  mounted: [],
};

export type Entry = string | { type: 'symlink' | 'link' | 'character-device'; linkname?: string };

/** A merge's tar: name to content, or to a header for what no honest host would send. */
export async function tarOf(entries: Record<string, Entry>): Promise<Buffer> {
  const stream = pack();
  for (const [name, entry] of Object.entries(entries)) {
    if (typeof entry === 'string') stream.entry({ name }, entry);
    else stream.entry({ ...entry, name });
  }
  stream.finalize();
  const pieces: Buffer[] = [];
  for await (const piece of stream) if (piece instanceof Uint8Array) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

export async function mergeOf(config: object = {}, files: Record<string, Entry> = {}): Promise<Buffer> {
  return tarOf({ 'sandbox.json': JSON.stringify({ ...CONFIG, ...config }), ...files });
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export interface TestSandbox {
  roots: Roots;
  child: ChildProcess;
  /** How the supervisor's process ended. */
  exit: Promise<number | string>;
  /** The connection of the client that made the container. */
  first: FrameConnection;
  /** A further client, past its hello. */
  join(): Promise<FrameConnection>;
  log(): Record<string, unknown>[];
}

export interface SandboxSettings {
  roots?: Roots;
  /** The script that stands for pi. */
  pi?: string;
  times?: Partial<Record<'stopGraceMs' | 'firstIdleMs' | 'closeMs' | 'greetingMs' | 'hangUpGraceMs', number>>;
  image?: string;
}

/** Starts a supervisor; nothing was said to it yet. */
export function startSandbox({
  roots = makeRoots(),
  pi,
  times = {},
  image,
}: SandboxSettings = {}): TestSandbox {
  const base = temporary();
  writeFileSync(`${base}/pi`, pi ?? '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
  const { hangUpGraceMs = 2_000, ...rest } = times;
  const options = {
    roots,
    user: OWN,
    version: '1.2.3',
    image: image ?? base,
    programs: { pi: `${base}/pi`, shell: '/bin/bash', hangUpGraceMs },
    stopGraceMs: 3_000,
    firstIdleMs: 20_000,
    closeMs: 2_000,
    ...rest,
  };
  const script = new URL('supervisor-process.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, HOME: pathsOf(roots).home },
  });
  const exit = once(child, 'exit').then(([code, signal]) => code ?? signal);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  const paths = pathsOf(roots);
  return {
    roots,
    child,
    exit,
    first: new FrameConnection({ input: child.stdout, output: child.stdin }),
    join: async () => {
      await until(() => existsSync(paths.socket), 'the socket');
      const token = readFileSync(paths.token, 'utf8').trim();
      const connection = await connectTo(roots);
      await greetSupervisor(connection, { token });
      return connection;
    },
    log: () => readLog(roots),
  };
}

export async function connectTo(roots: Roots): Promise<FrameConnection> {
  const socket = connect({ path: pathsOf(roots).socket, allowHalfOpen: true });
  await once(socket, 'connect');
  onTestFinished(() => void socket.destroy());
  return new FrameConnection(socket);
}

export function readLog(roots: Roots): Record<string, unknown>[] {
  const path = `${pathsOf(roots).sandboxLogs}/box.jsonl`;
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

export async function greetSupervisor(
  connection: FrameConnection,
  hello: { token?: string; protocol?: number } = {},
): Promise<void> {
  connection.send({ type: 'hello', value: { protocol: PROTOCOL, version: '1.2.3', ...hello } });
  const frame = await connection.read();
  if (frame?.type !== 'hello') throw new Error(`${frame?.type} instead of hello`);
}

export function runRequest(command: string[], more: Partial<RunRequest> = {}): RunRequest {
  return {
    verb: 'run',
    id: randomBytes(16).toString('hex'),
    program: 'command',
    arguments: command,
    directory: '/',
    environment: {},
    ...more,
  };
}

/** Sends a request, with the tar of its merge if it has one, and gives the reply. */
export async function ask(
  connection: FrameConnection,
  request: OpenRequest,
  tar?: Uint8Array,
): Promise<OpenReply> {
  const merge = tar && { length: tar.length, sha256: sha256(tar) };
  const value = request.verb === 'run' && merge ? { merge, ...request } : request;
  connection.send({ type: 'open', value });
  if (tar) connection.send({ type: 'blob', bytes: tar });
  for (;;) {
    const frame = await connection.read();
    if (frame === undefined) throw new Error('lost before the reply');
    if (frame.type === 'reply') return frame.value;
    if (frame.type !== 'status') throw new Error(`${frame.type} before the reply`);
    statuses.set(connection, [...(statuses.get(connection) ?? []), frame.value.text]);
  }
}
const statuses = new WeakMap<FrameConnection, string[]>();

export interface Finished {
  stdout: Buffer;
  stderr: string;
  status: string[];
  exited: Exited | undefined;
}

/** Takes everything until the program has ended. */
export async function finished(
  connection: FrameConnection,
  onFrame?: (frame: Frame) => void,
): Promise<Finished> {
  const stdout: Buffer[] = [];
  const result: Finished = {
    stdout: Buffer.alloc(0),
    stderr: '',
    status: statuses.get(connection) ?? [],
    exited: undefined,
  };
  await new Promise<void>((resolve) => {
    connection.onFrame((frame) => {
      onFrame?.(frame);
      if (frame.type === 'data') stdout.push(Buffer.from(frame.bytes));
      if (frame.type === 'error-data') result.stderr += Buffer.from(frame.bytes).toString('utf8');
      if (frame.type === 'status') result.status.push(frame.value.text);
      if (frame.type !== 'exited') return;
      result.exited = frame.value;
      resolve();
    });
    void connection.closed.then(() => resolve());
  });
  connection.destroy();
  return { ...result, stdout: Buffer.concat(stdout) };
}

/** A started sandbox in which the first client's program, a `cat`, keeps running. */
export async function runningSandbox(settings: SandboxSettings = {}, config = {}): Promise<TestSandbox> {
  const sandbox = startSandbox(settings);
  await greetSupervisor(sandbox.first);
  const reply = await ask(sandbox.first, runRequest(['cat']), await mergeOf(config));
  if (reply.answer !== 'accepted') throw new Error(JSON.stringify(reply));
  sandbox.first.onFrame(() => undefined);
  return sandbox;
}

/** Runs a command for a further client to its end. */
export async function runIn(
  sandbox: TestSandbox,
  command: string[],
  more: Partial<RunRequest> = {},
): Promise<Finished> {
  const connection = await sandbox.join();
  const reply = await ask(connection, runRequest(command, more));
  if (reply.answer !== 'accepted') throw new Error(JSON.stringify(reply));
  connection.send({ type: 'end-of-input' });
  return finished(connection);
}

/** Feeds standard input on credit, as a client does. */
export function feeder(connection: FrameConnection): {
  send(bytes: Uint8Array): Promise<boolean>;
  onFrame(frame: Frame): void;
} {
  const credit = new InputCredit(connection.closed);
  return {
    send: (bytes) => sendInput(connection, credit, bytes),
    onFrame: (frame) => {
      if (frame.type === 'ack') credit.acknowledge(frame.consumed);
    },
  };
}

/** Waits for a condition, and names it when it does not come true. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  ms = 10_000,
): Promise<void> {
  for (const deadline = performance.now() + ms; performance.now() < deadline; await sleep(10)) {
    if (await condition()) return;
  }
  throw new Error(`waited in vain for ${what}`);
}

export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2)[0] !== 'Z';
  } catch {
    return false;
  }
}

/** Resident memory of a process, in bytes. */
export function residentBytes(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}
