/** A raw connection to a job's socket, for tests that say what no client of ours would. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ControlAnswer,
  type ControlRequest,
  type JobDirectory,
  type JobsPlace,
  parseControlAnswer,
  parseNotice,
  withSocketPath,
} from '../../src/jobs/index.ts';
import { jsonLineReader } from '../../src/lib/json-line-reader.ts';

const WAIT_MS = 15_000;

export interface JobSocket {
  readonly socket: Socket;
  send(text: string): void;
  /** The next line; undefined when the other side has ended. */
  next(): Promise<unknown>;
}

type Where = { readonly place: JobsPlace; readonly directory: JobDirectory };

/** Waits until the runner listens. */
export async function connectJob({ place, directory }: Where): Promise<JobSocket> {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    try {
      const socket = withSocketPath(place, directory, (path) => connect(path));
      await once(socket, 'connect');
      return wrap(socket);
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(20);
    }
  }
}

function wrap(socket: Socket): JobSocket {
  socket.on('error', () => {});
  const lines = linesOf(socket);
  return {
    socket,
    send: (text) => void socket.write(text),
    async next() {
      const late = setTimeout(() => socket.destroy(new Error('no line came in time')), WAIT_MS);
      const { value } = await lines.next();
      clearTimeout(late);
      return value;
    },
  };
}

async function* linesOf(socket: Socket): AsyncGenerator<unknown, undefined> {
  const reader = jsonLineReader({ maxLineBytes: 8 * 1_048_576 });
  for await (const chunk of socket) {
    for (const line of reader.push(chunk)) yield line.kind === 'entry' ? line.value : line;
  }
  return undefined;
}

/** One request and its answer. */
export async function ask(where: Where, request: ControlRequest): Promise<ControlAnswer | undefined> {
  const connection = await connectJob(where);
  connection.send(`${JSON.stringify(request)}\n`);
  const answer = parseControlAnswer(await connection.next());
  connection.socket.destroy();
  return answer;
}

/** Watches until a notice for which `holds` is true, or the end; all notices until then. */
export async function watchUntil(where: Where, holds: (notice: string) => boolean): Promise<string[]> {
  const connection = await connectJob(where);
  connection.send('{"version":1,"op":"watch"}\n');
  await connection.next();
  const seen: string[] = [];
  for (let value = await connection.next(); value !== undefined; value = await connection.next()) {
    const notice = parseNotice(value);
    if (!notice) throw new Error(`no notice: ${JSON.stringify(value)}`);
    const text =
      notice.event === 'progress'
        ? notice.line.replace(/^\S+ /, '')
        : `${notice.event} ${notice.status}${'position' in notice ? ` ${notice.position}` : ''}`;
    seen.push(text);
    if (holds(text)) break;
  }
  connection.socket.destroy();
  return seen;
}
