/**
 * Runs the image's history program (S13): by exec in a running sandbox when that sandbox's domain is all that is asked
 * about, else in one short-lived helper container that has the volumes of all the domains asked about, and there for
 * each domain as a process of its own, as the owner of its history.
 */
import type { Readable } from 'node:stream';
import type { Engine } from '../../engine/index.ts';
import { OperationError } from '../../lib/errors.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import {
  HISTORY_VERSION,
  type HistoryAnswer,
  type HistoryLine,
  type HistoryRequest,
} from '../../wire/index.ts';
import type { Config } from '../config/index.ts';
import { notSilent, readAnswer, readMarkedAnswers } from './history-answers.ts';
import type { DomainHistory } from './history-domains.ts';
import { type HelperEnd, useHelper } from './volumes.ts';

const PROGRAM = ['/usr/local/bin/node', '/opt/pi-sandbox/history.mjs'];

/**
 * For each domain and its request: who owns the history, and the program as that user, without any capability. For the
 * bytes of one domain alone: the same without a line of our own.
 */
const AS_OWNER = `
as_owner() {
  sessions=/volumes/$1/sessions
  owner=$(stat -c '%u:%g' "$sessions") || return 1
  setpriv --reuid="\${owner%:*}" --regid="\${owner#*:}" --clear-groups --inh-caps=-all \\
    ${PROGRAM.join(' ')} "$2" "$sessions" "/volumes/$1/domain-state/locks/sessions"
}
`;
const ANSWERS = `${AS_OWNER}
while [ $# -gt 0 ]; do
  printf '{"type":"domain","domain":"%s"}\\n' "$1"
  as_owner "$1" "$2"
  printf '{"type":"exit","code":%d}\\n' $?
  shift 2
done
`;
const BYTES = `${AS_OWNER}
as_owner "$1" "$2"
`;

export type Request = WithoutVersion<HistoryRequest>;
type WithoutVersion<T> = T extends unknown ? Omit<T, 'version'> : never;

export interface HistoryScene {
  readonly engine: Engine;
  readonly config: Config;
  /** The current image's name, worked out when first called. */
  readonly image: () => string;
}

export interface DomainAnswer {
  readonly history: DomainHistory;
  /** Without the last line. */
  readonly lines: readonly HistoryAnswer[];
  /** Why this domain's answer is not whole. */
  readonly failed: Omit<HistoryLine<'failed'>, 'type'> | undefined;
}

/**
 * Asks the histories that exist, each with its own request; one without a volume has nothing to say.
 *
 * @throws OperationError when none of them can be asked
 */
export async function askHistories(
  scene: HistoryScene,
  asked: readonly DomainHistory[],
  requestOf: (history: DomainHistory) => Request,
): Promise<DomainAnswer[]> {
  const existing = asked.filter(({ sessions }) => sessions !== undefined);
  const [only, ...others] = existing;
  if (only === undefined) return [];
  const sandbox = others.length === 0 ? sandboxToAsk(only, scene) : undefined;
  if (sandbox !== undefined) {
    const lines = await askSandbox(scene.engine, sandbox, requestOf(only));
    if (lines !== undefined) return [finished(only, lines, undefined)];
  }
  return askHelper(scene, existing, requestOf);
}

/** Hands the bytes that one domain's program prints to `use`. */
export async function bytesOfHistory(
  scene: HistoryScene,
  history: DomainHistory,
  request: Extract<Request, { verb: 'export' | 'export-all' }>,
  use: (bytes: AsyncIterable<Buffer>) => Promise<void>,
): Promise<void> {
  const sandbox = sandboxToAsk(history, scene);
  if (sandbox !== undefined) {
    const session = await scene.engine.containers.exec(sandbox, { command: commandOf(request) });
    if (session.outcome === 'running') {
      const errors = textOf(session.stderr).catch(() => '');
      try {
        await use(notSilent(session.stdout));
        const exit = await session.exit();
        const code = exit.outcome === 'exited' ? exit.code : 1;
        return requireSuccess({ code, error: undefined, stderr: await errors });
      } finally {
        session.disconnect();
      }
    }
  }
  const command = ['/bin/sh', '-c', BYTES, 'history', history.domain, textOfRequest(request)];
  const { end } = await useHelper(scene.engine, helperRun(scene, [history], command), (stdout) =>
    use(notSilent(stdout)),
  );
  requireSuccess(end);
}

/** A running sandbox of the current image; an older one may have no such program, or another form of it. */
function sandboxToAsk({ sandboxes }: DomainHistory, scene: HistoryScene): string | undefined {
  const current = scene.image();
  return sandboxes.find(
    ({ state, image }) => state === 'running' && image.replace(/^localhost\//, '') === current,
  )?.id;
}

/** Undefined when the sandbox has ended meanwhile, or cannot run a program any more. */
async function askSandbox(
  engine: Engine,
  sandbox: string,
  request: Request,
): Promise<HistoryAnswer[] | undefined> {
  const session = await engine.containers.exec(sandbox, { command: commandOf(request) });
  if (session.outcome !== 'running') return undefined;
  session.stderr.resume();
  try {
    const lines = await readAnswer(session.stdout);
    return lines.length === 0 ? undefined : lines;
  } finally {
    session.disconnect();
  }
}

async function askHelper(
  scene: HistoryScene,
  histories: readonly DomainHistory[],
  requestOf: (history: DomainHistory) => Request,
): Promise<DomainAnswer[]> {
  const words = histories.flatMap((history) => [history.domain, textOfRequest(requestOf(history))]);
  const command = ['/bin/sh', '-c', ANSWERS, 'history', ...words];
  const { value, end } = await useHelper(scene.engine, helperRun(scene, histories, command), collect);
  return histories.map((history) => {
    const { lines = [], code } = value.get(history.domain) ?? {};
    const killed = code === undefined || code > 128;
    return finished(history, lines, killed ? 'it was killed' : lastLine(end.stderr));
  });
}

async function collect(stdout: Readable): Promise<Map<string, { lines: HistoryAnswer[]; code?: number }>> {
  const answers = new Map<string, { lines: HistoryAnswer[]; code?: number }>();
  let current: { lines: HistoryAnswer[]; code?: number } | undefined;
  for await (const line of readMarkedAnswers(stdout)) {
    if (line.type === 'domain') {
      current = { lines: [] };
      answers.set(line.domain, current);
    } else if (line.type === 'exit') {
      if (current !== undefined) current.code = line.code;
    } else current?.lines.push(line);
  }
  return answers;
}

/** An answer is whole when its last line says so, and none says otherwise. */
function finished(
  history: DomainHistory,
  lines: readonly HistoryAnswer[],
  said: string | undefined,
): DomainAnswer {
  const failed = lines.find((line) => line.type === 'failed');
  if (failed !== undefined) return { history, lines: lines.filter((line) => line !== failed), failed };
  if (lines.at(-1)?.type === 'end') return { history, lines: lines.slice(0, -1), failed: undefined };
  const why = said === undefined || said === '' ? '' : `: ${said}`;
  return { history, lines, failed: { error: '', message: `the answer is not whole${why}`, exitCode: 1 } };
}

/** Only volumes that are there are mounted: the engine would make the others. */
function helperRun(
  { config, image }: HistoryScene,
  histories: readonly DomainHistory[],
  command: string[],
): Parameters<typeof useHelper>[1] {
  return {
    sandbox: { config },
    image: image(),
    user: '0:0',
    capabilities: ['SETUID', 'SETGID'],
    command,
    mounts: histories.flatMap(({ domain, sessions, domainState }) => [
      ...mountOf(sessions, `/volumes/${domain}/sessions`, false),
      ...mountOf(domainState, `/volumes/${domain}/domain-state`, true),
    ]),
  };
}

function mountOf(source: string | undefined, target: string, readOnly: boolean) {
  return source === undefined ? [] : [{ type: 'volume' as const, source, target, readOnly }];
}

function commandOf(request: Request): string[] {
  return [...PROGRAM, textOfRequest(request)];
}

function textOfRequest(request: Request): string {
  return JSON.stringify({ version: HISTORY_VERSION, ...request });
}

function requireSuccess({ code, error, stderr }: HelperEnd): void {
  if (code === 0 && error === undefined) return;
  const [message = '', hint] = (error ?? stderr).trim().split('\n');
  throw new OperationError(safeForTerminal(message) || `the history program ended with ${code}`, { hint });
}

const MAX_ERRORS = 16 * 1024;

async function textOf(stream: Readable): Promise<string> {
  let text = '';
  for await (const chunk of stream) text = (text + Buffer.from(chunk).toString()).slice(0, MAX_ERRORS);
  return text;
}

function lastLine(text: string): string {
  return safeForTerminal(text.trim().split('\n').at(-1) ?? '').slice(0, 500);
}

/**
 * The history is read by a program of the image; without a history there is nothing to read.
 *
 * @throws OperationError naming the image when it is needed and missing
 */
export async function requireImage(
  { engine, image }: HistoryScene,
  histories: readonly DomainHistory[],
): Promise<void> {
  if (histories.every(({ sessions }) => sessions === undefined)) return;
  if ((await engine.images.inspect(image())) !== undefined) return;
  throw new OperationError(`the history cannot be read: the image ${image()}, which reads it, is missing`, {
    hint: 'pi-sandbox image build',
  });
}
