/**
 * History from before domains had their own, in the shared volume (S12). No sandbox reaches it: a helper container sorts it
 * when a domain's volumes are made, and again when a sandbox says that it has not been sorted by today's decisions.
 */
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import {
  LEGACY_VERSION,
  LegacyMessage,
  type LegacyRequest,
  type LegacyTally,
  type MigrationReport,
} from '../../history/index.ts';
import { bytes } from '../../lib/table.ts';
import { type Config, type DomainId, legacyTable } from '../config/index.ts';
import { type Progress, progressLine } from '../ui/progress.ts';
import { info, warn } from '../ui/report.ts';

/**
 * The program in the image; what fails in it says so in its last line and fails no start. With so many threads the files of
 * a batch become durable side by side.
 */
export const OLD_HISTORY =
  '/usr/bin/env UV_THREADPOOL_SIZE=32 /usr/local/bin/node /opt/pi-sandbox/legacy.mjs';

/** Longer lines are none of the program's (rule 7). */
const MAX_LINE = 1024 * 1024;
/** What was left of old history is told by the start that sorts, with these problems by name. */
const MAX_PROBLEMS = 5;

/** The request to sort one domain's part, for a container with the volumes at these places. */
export function sortRequest(
  config: Config,
  domain: DomainId,
  places: { agentState: string; sessions: string },
): string {
  const request: LegacyRequest = {
    version: LEGACY_VERSION,
    verb: 'migrate',
    sharedRoot: places.agentState,
    table: legacyTable(config),
    domains: { [domain]: places.sessions },
  };
  return JSON.stringify(request);
}

/** Reads the program's lines, with a line of progress when it takes long; the last answer is the result. */
export async function readOldHistoryAnswers(stdout: Readable): Promise<LegacyMessage | undefined> {
  let last: LegacyMessage | undefined;
  let progress: Progress | undefined;
  for await (const line of createInterface({ input: stdout, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.length > MAX_LINE) continue;
    const message = parse(line);
    if (message === undefined) continue;
    last = message;
    if (message.step !== 'waiting' && message.step !== 'moving') continue;
    progress ??= progressLine('sorting the history from before domains had their own');
    progress.show(
      message.step === 'waiting'
        ? 'waiting for another start that does'
        : `${message.files} of ${message.total} looked at, ${message.moved} moved (${bytes(message.bytes)})`,
    );
  }
  progress?.done();
  return last;
}

function parse(line: string): LegacyMessage | undefined {
  try {
    return LegacyMessage.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

/** Whose part was sorted, and where to. */
export interface Sorted {
  readonly domain: DomainId;
  readonly volumes: { readonly sessions: string };
}

/** Says what the start's user should know: what was moved, what stays and why. Nothing at all in the usual case. */
export function tellSorted(answer: LegacyMessage | undefined, { domain, volumes }: Sorted): void {
  if (answer?.step === 'failed') warn(`the old history was not sorted: ${answer.message}`);
  if (answer?.step !== 'migrated') return;
  const { report } = answer;
  const { moved, stopped } = report;
  if (moved.count > 0) {
    info(`moved ${sessions(moved)} from before domains had their own into domain ${domain}`);
  }
  tellProblems(report);
  if (stopped !== undefined) {
    const where = stopped.reason === 'no-space' ? `the volume ${volumes.sessions} takes no more: ` : '';
    warn(
      `the old history is not sorted yet: ${where}${stopped.message}; nothing is lost, the next start goes on`,
    );
    return;
  }
  if (!report.ran) return;
  const { unowned, damaged } = report.content;
  const left = { count: unowned.count + damaged.count, bytes: unowned.bytes + damaged.bytes };
  if (left.count === 0) return;
  const belong = left.count === 1 ? 'belongs' : 'belong';
  info(`${sessions(left)} from before domains had their own ${belong} to no configured domain, out of reach`);
  info(
    'pi-sandbox sessions clear --legacy deletes what belongs to none; DOMAIN_<ID>_PATHS or LEGACY_PATHS gives it to one',
  );
}

function tellProblems({ problems, renamed }: MigrationReport): void {
  for (const { file, reason } of problems.items.slice(0, MAX_PROBLEMS)) {
    warn(`old history${file === '' ? '' : `, ${file}`}: ${reason}`);
  }
  const more = problems.items.length + problems.omitted - MAX_PROBLEMS;
  if (more > 0) warn(`old history: ${more} more problems`);
  const changed = renamed.items.length + renamed.omitted;
  if (changed > 0) info(`${changed} of them have another name now, since other sessions have theirs`);
}

/** `3 Sessions (14 KiB)`. */
function sessions({ count, bytes: size }: Pick<LegacyTally, 'count' | 'bytes'>): string {
  return `${count} Session${count === 1 ? '' : 's'} (${bytes(size)})`;
}
