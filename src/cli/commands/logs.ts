import type { Engine } from '../../engine/index.ts';
import { jsonText } from '../../lib/json-text.ts';
import { openContext } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import { askSupervisor } from '../sandbox/ask-supervisor.ts';
import { endedLog } from '../sandbox/ended-log.ts';
import { listSandboxes, matching, onlyOne } from '../sandbox/find-sandboxes.ts';
import { planImage } from '../sandbox/image.ts';
import { canonical } from '../sandbox/resolve-running.ts';
import { parseLogLine, renderLogLine } from '../sandbox/sandbox-log-lines.ts';

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
  const { config, engine } = await openContext(options);
  const asked = word ?? '.';
  const project = canonical(asked);
  const running = matching(
    await listSandboxes(engine, config.INSTALLATION_PREFIX),
    asked,
    project,
    options.domain,
  ).filter(({ state }) => state === 'running');
  const print = printer(options.json === true);
  if (running.length > 0 && (await follow(engine, onlyOne(running, asked).id, options, print)))
    return done(engine);
  const image = planImage(config.INSTALLATION_PREFIX, config).name;
  const { domain, tail } = options;
  print(await endedLog(engine, config, image, { word: asked, project, domain, tail }));
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
        `${json ? jsonText({ time: parsed.time, event: parsed.event, ...parsed.facts }) : renderLogLine(parsed)}\n`,
      );
    }
  };
}

function done(engine: Engine): number {
  engine.close();
  return 0;
}
