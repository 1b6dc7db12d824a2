import { Agent, type AgentOptions, IncomingMessage } from 'node:http';
import { Duplex, PassThrough, type Writable } from 'node:stream';
import { connectTo } from './connection.ts';
import type { Endpoint } from './endpoint.ts';

/** A list is the parameter repeated. */
type QueryValue = string | number | boolean | readonly string[] | undefined;

/** Bytes, or any stream of them: Node's, or the kind that tar-fs and tar-stream make. */
export type Upload =
  | Buffer
  | {
      pipe(target: Writable): unknown;
      on(event: 'error', listener: (error: Error) => void): unknown;
    };

export interface EngineRequest {
  method: 'GET' | 'POST' | 'DELETE' | 'HEAD';
  /** Without query; path parts from outside are escaped by `pathOf`. */
  path: string;
  query?: Readonly<Record<string, QueryValue>>;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, instead of `body`. */
  upload?: { data: Upload; contentType: string };
  /** Milliseconds until the call is given up; Infinity for what may take as long as it likes. */
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

interface DialOptions {
  path: string;
  method: string;
  headers: Record<string, string>;
  isStream: true;
  hijack?: boolean;
  openStdin: false;
  file?: Buffer | PassThrough;
  abortSignal?: AbortSignal;
  statusCodes: Readonly<Record<number, boolean>>;
}

interface Modem {
  dial(options: DialOptions, done: (error: unknown, result: unknown) => void): void;
}

/** Every status is an answer for us to judge: the modem's own errors lose the engine's words. */
const ANY_STATUS: Readonly<Record<number, boolean>> = Object.fromEntries(
  Array.from({ length: 500 }, (_, index) => [index + 100, true]),
);

/** dockerode's modem, over connections that we make. */
export interface ModemDoor {
  /** Resolves with the answer, or with the raw connection where it was upgraded. */
  dial(request: EngineRequest, hijack: boolean): Promise<IncomingMessage | Duplex>;
  close(): void;
}

export async function openModem(endpoint: Endpoint): Promise<ModemDoor> {
  const agent = agentFor(endpoint);
  const modem = await modemWith(agent);
  return {
    dial: (request, hijack) =>
      new Promise((resolve, reject) => {
        modem.dial(dialOptions(request, hijack), (error, result) => {
          if (error) reject(error);
          else if (result instanceof IncomingMessage || result instanceof Duplex) resolve(result);
          else reject(new Error('the engine gave no stream'));
        });
      }),
    close: () => agent.destroy(),
  };
}

function agentFor(endpoint: Endpoint): Agent {
  // An empty server name spares each connection the guess of one.
  const options: AgentOptions & { servername: string } = { keepAlive: true, servername: '' };
  const agent = new Agent(options);
  agent.createConnection = (_options, done) => {
    connectTo(endpoint).then(
      (socket) => done?.(null, socket),
      (error: Error) => done?.(error, new Duplex()),
    );
    return undefined;
  };
  // The modem prints each request's options for its debug log even when that is off: keep the agent's tree out of it.
  return Object.assign(agent, { [Symbol.for('nodejs.util.inspect.custom')]: () => 'Agent' });
}

async function modemWith(agent: Agent): Promise<Modem> {
  const { default: Docker } = await import('dockerode');
  // The modem reads DOCKER_HOST by itself, and lets it win over options that are absent. The endpoint is already
  // decided (S19), and the agent makes all connections, whatever their kind.
  const inherited = process.env.DOCKER_HOST;
  delete process.env.DOCKER_HOST;
  try {
    // Its types know no agent, its modem does.
    const options: object = { socketPath: '/', agent };
    return new Docker(options).modem;
  } finally {
    if (inherited !== undefined) process.env.DOCKER_HOST = inherited;
  }
}

function dialOptions(request: EngineRequest, hijack: boolean): DialOptions {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(request.query ?? {})) {
    if (value === undefined) continue;
    for (const one of typeof value === 'object' ? value : [value]) query.append(key, String(one));
  }
  // Always an explicit body, an empty one too: dockerode's own attach sends its options as a JSON body, which lands
  // in the container's stdin (reference, trap 1).
  const json = request.body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(request.body));
  const contentType =
    request.upload?.contentType ?? (request.body === undefined ? 'text/plain' : 'application/json');
  const hasBody = request.method === 'POST';
  return {
    // The modem drops the last character of a path that has a query.
    path: query.size === 0 ? request.path : `${request.path}?${query}&`,
    method: request.method,
    headers: hasBody ? { 'Content-Type': contentType } : {},
    isStream: true,
    openStdin: false,
    statusCodes: ANY_STATUS,
    ...(hijack ? { hijack } : {}),
    ...(hasBody ? { file: request.upload ? nodeStream(request.upload.data) : json } : {}),
    ...(request.signal ? { abortSignal: request.signal } : {}),
  };
}

function nodeStream(data: Upload): Buffer | PassThrough {
  if (Buffer.isBuffer(data)) return data;
  const stream = new PassThrough();
  data.on('error', (error) => stream.destroy(error));
  data.pipe(stream);
  return stream;
}
