import type { Engine } from '../../engine/index.ts';
import { OperationError, UsageError } from '../../lib/errors.ts';
import { domainOf } from '../config/index.ts';
import { openContext } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import { askSupervisor } from '../sandbox/ask-supervisor.ts';
import { listSandboxes, matching } from '../sandbox/find-sandboxes.ts';
import { planImage } from '../sandbox/image.ts';
import { sandboxName, volumeNames } from '../sandbox/names.ts';
import { resolveProject } from '../sandbox/project.ts';
import { parseLogLine, renderLogLine } from '../sandbox/sandbox-log-lines.ts';
import { runHelper } from '../sandbox/volumes.ts';

export interface LogsOptions extends GlobalOptions {
  domain?: string;
  /** Lines. */
  tail: number;
  follow?: boolean;
  json?: boolean;
}

/**
 * Prints a sandbox's log: asked of its supervisor while it runs, and read from its domain's volume by a helper
 * container once it is gone (S14, S15).
 */
export async function logs(word: string | undefined, options: LogsOptions): Promise<number> {
  const { config, engine, home } = await openContext(options);
  const project = await resolveProject(word, { cwd: process.cwd(), home }).catch((error: unknown) => {
    if (error instanceof UsageError) return undefined;
    throw error;
  });
  const running = matching(
    await listSandboxes(engine, config.INSTALLATION_PREFIX),
    word ?? '',
    project?.canonical ?? word ?? '',
    options.domain,
  ).find(({ state }) => state === 'running');
  const print = printer(options.json === true);
  if (running !== undefined && (await follow(engine, running.id, options, print))) return done(engine);
  if (project === undefined)
    throw new UsageError(`no sandbox of ${word ?? '.'} is there`, { hint: 'pi-sandbox ps --all' });
  const domain = domainOf(config, project.canonical, options.domain);
  const name = sandboxName(config.INSTALLATION_PREFIX, domain, project.canonical);
  const volume = volumeNames(config.INSTALLATION_PREFIX, domain).domainState;
  if ((await engine.volumes.inspect(volume)) === undefined) {
    throw new OperationError(`there is no log of ${project.display}: domain ${domain} was never started`);
  }
  const file = `/volume/logs/sandboxes/${name}.jsonl`;
  print(
    await runHelper(engine, {
      sandbox: { config },
      image: planImage(config.INSTALLATION_PREFIX, config).name,
      user: '0:0',
      capabilities: ['DAC_READ_SEARCH'],
      command: [
        '/bin/sh',
        '-c',
        // By bytes first: a sandbox can leave a file of any length without one line in it.
        '[ -f "$1" ] && [ ! -L "$1" ] || exit 0; tail -c 4000000 "$1" | tail -n "$2"',
        'logs',
        file,
        String(options.tail),
      ],
      mounts: [{ type: 'volume', source: volume, target: '/volume', readOnly: true }],
    }),
  );
  return done(engine);
}

/** False when the supervisor does not answer and the volume has to be read instead. */
async function follow(
  engine: Engine,
  id: string,
  options: LogsOptions,
  print: (text: string) => void,
): Promise<boolean> {
  const request = { verb: 'logs', tail: options.tail, follow: options.follow === true } as const;
  const answer = await askSupervisor(engine, id, request).catch(() => undefined);
  if (answer === undefined) return false;
  const { connection } = answer;
  connection.onFrame((frame) => {
    if (frame.type === 'data') print(Buffer.from(frame.bytes).toString('utf8'));
    // Not left to the way between: the bridge keeps its end open for a while.
    if (frame.type === 'exited') connection.destroy();
  });
  process.once('SIGINT', () => connection.destroy());
  const timer = options.follow === true ? undefined : setTimeout(() => connection.destroy(), ANSWER_MS);
  process.stdout.once('error', () => connection.destroy());
  await connection.closed;
  clearTimeout(timer);
  return true;
}

const MAX_LINE = 1024 * 1024;
/** A log that is not followed is read this long at most: who answers may be something in the sandbox (rule 8). */
const ANSWER_MS = 30_000;

/** Prints whole lines as they come; the file is the sandbox's, so each is parsed before a terminal sees it (rule 8). */
function printer(json: boolean): (text: string) => void {
  let rest = '';
  return (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    // No line of ours is that long: it is not kept until the memory is full.
    if (rest.length > MAX_LINE) rest = '';
    for (const line of lines) {
      const parsed = parseLogLine(line);
      if (parsed === undefined) continue;
      process.stdout.write(
        `${json ? JSON.stringify({ time: parsed.time, event: parsed.event, ...parsed.facts }) : renderLogLine(parsed)}\n`,
      );
    }
  };
}

function done(engine: Engine): number {
  engine.close();
  return 0;
}
