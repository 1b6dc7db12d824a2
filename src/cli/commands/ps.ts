import type { Engine } from '../../engine/index.ts';
import { messageOf } from '../../lib/errors.ts';
import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { bytes, duration, table } from '../../lib/table.ts';
import type { SandboxStatus } from '../../wire/index.ts';
import { openConfiguration } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import { statusOf } from '../sandbox/ask-supervisor.ts';
import { type EndedSandbox, endedSandboxes } from '../sandbox/ended-sandboxes.ts';
import { type ListedSandbox, listSandboxes } from '../sandbox/find-sandboxes.ts';
import { planImage } from '../sandbox/image.ts';
import { removeOldNetworks } from '../sandbox/network.ts';
import { warn } from '../ui/report.ts';

export interface PsOptions extends GlobalOptions {
  all?: boolean;
  json?: boolean;
}

interface Failure {
  failure: unknown;
}

interface EngineChoice {
  /** As the user named it; empty for the one that was found. */
  name: string;
  engine: Engine | Failure;
}

interface Row extends ListedSandbox {
  engine: string;
  status: SandboxStatus | undefined;
  /** Runs an image that a start would not choose any more. */
  oldImage: boolean;
}

/** An engine of `ENGINES` that does not answer in this time is reported and not waited for. */
const ENGINE_MS = 5_000;

/** Lists the sandboxes of every configured engine that answers, from the engines themselves (S15, S19). */
export async function ps(options: PsOptions): Promise<number> {
  const { config, env, home, openDefault } = await openConfiguration(options);
  const [engine, listed] = await Promise.all([
    openDefault().catch((error: unknown) => ({ failure: error })),
    otherEngines(config.ENGINES, env, home),
  ]);
  // The one that was found may be named there too.
  const others = listed.filter((other) => !isSame(other.engine, engine));
  const current = planImage(config.INSTALLATION_PREFIX, config).name;
  const results = await Promise.all(
    [{ name: '', engine }, ...others].map((choice) => rowsOf(choice, config.INSTALLATION_PREFIX, current)),
  );
  const [own, ...rest] = results;
  for (const result of rest) warnOf(result);
  if (own !== undefined && 'failure' in own && rest.every((result) => 'failure' in result)) throw own.failure;
  if (own !== undefined) warnOf(own);
  const rows = results.flatMap((result) => ('failure' in result ? [] : result.rows));
  const answers = !('failure' in engine) && own !== undefined && !('failure' in own);
  const ended = options.all === true && answers ? await endedSandboxes(engine, config, current, rows) : [];
  print(rows, ended, options.json === true);
  // Nobody else does it when a sandbox ends by itself (S17); after the list, which must not wait or fail for it.
  if (answers) {
    const cleared = removeOldNetworks(engine, config.INSTALLATION_PREFIX);
    await withTimeout(cleared, ENGINE_MS).catch(() => undefined);
  }
  if (!('failure' in engine)) engine.close();
  return 0;
}

function isSame(one: Engine | Failure, other: Engine | Failure): boolean {
  return !('failure' in one) && !('failure' in other) && one.address === other.address;
}

function print(rows: readonly Row[], ended: readonly EndedSandbox[], json: boolean): void {
  if (json) {
    process.stdout.write(`${jsonText({ version: 1, sandboxes: rows, ended }, 2)}\n`);
    return;
  }
  process.stdout.write(render(rows));
  if (ended.length === 0) return;
  const lines = ended.map(({ name, time, reason }) => [name, ago(time), safeForTerminal(reason)]);
  process.stdout.write(`\n${table(['ended', 'when', 'why'], lines)}`);
}

async function otherEngines(
  names: readonly string[],
  env: NodeJS.ProcessEnv,
  home: string,
): Promise<EngineChoice[]> {
  const { openEngine } = await import('../../engine/index.ts');
  return Promise.all(
    names.map(async (name) => ({
      name,
      engine: await openEngine({ engine: name, env, home }).catch((error: unknown) => ({ failure: error })),
    })),
  );
}

type Listing = { rows: Row[] } | (Failure & { name: string });

function warnOf(listing: Listing): void {
  if ('failure' in listing) warn(`${listing.name}: unreachable: ${messageOf(listing.failure)}`);
}

async function rowsOf({ name, engine }: EngineChoice, prefix: string, current: string): Promise<Listing> {
  const title = name === '' ? 'the default engine' : `engine ${name}`;
  if ('failure' in engine) return { name: title, failure: engine.failure };
  try {
    const listed = await withTimeout(listSandboxes(engine, prefix), ENGINE_MS);
    const rows = listed.map(async (sandbox) => ({
      ...sandbox,
      engine: name,
      oldImage: sandbox.image.replace(/^localhost\//, '') !== current,
      status: sandbox.state === 'running' ? await statusOf(engine, sandbox.id) : undefined,
    }));
    return { rows: await Promise.all(rows) };
  } catch (error) {
    return { name: title, failure: error };
  }
}

async function withTimeout<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`no answer within ${milliseconds / 1_000} s`)),
    milliseconds,
  );
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

function render(rows: readonly Row[]): string {
  const several = new Set(rows.map(({ engine }) => engine)).size > 1;
  const headings = ['project', 'domain', 'status', 'sessions', 'jobs', 'memory', 'name'];
  const lines = rows.map((row) => [
    safeForTerminal(row.project),
    row.domain,
    stateOf(row),
    countOf(row, 'session'),
    countOf(row, 'job'),
    row.status === undefined ? '-' : memoryOf(row.status),
    row.alias ?? row.name,
  ]);
  if (!several) return table(headings, lines);
  return table(
    ['engine', ...headings],
    lines.map((line, at) => [rows[at]?.engine || '(default)', ...line]),
  );
}

function stateOf({ state, status, createdAt, oldImage }: Row): string {
  const old = oldImage ? ', old image' : '';
  if (state !== 'running') return `${state}${old}`;
  if (status === undefined) return `up, does not answer${old}`;
  const stray = status.stray.length > 0 ? `, ${status.stray.length} stray` : '';
  return `up ${duration(Date.now() - (createdAt ?? Date.parse(status.startedAt)))}${stray}${old}`;
}

function countOf({ status }: Row, kind: 'session' | 'job'): string {
  return status === undefined ? '-' : String(status.living.filter((thing) => thing.kind === kind).length);
}

function memoryOf({ memory }: SandboxStatus): string {
  return memory.limit === null ? bytes(memory.used) : `${bytes(memory.used)} / ${bytes(memory.limit)}`;
}

function ago(time: string): string {
  return `${duration(Date.now() - Date.parse(time))} ago`;
}
