import type { Engine } from '../../engine/index.ts';
import { messageOf, OperationError, UsageError } from '../../lib/errors.ts';
import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { bytes, table } from '../../lib/table.ts';
import { DomainId, shown } from '../config/index.ts';
import { openContext } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import { statusOf } from '../sandbox/ask-supervisor.ts';
import { type Belonging, belongings, removeBelonging } from '../sandbox/belongings.ts';
import { confirm } from '../ui/prompt.ts';
import { info } from '../ui/report.ts';

export interface ResetOptions extends GlobalOptions {
  domain?: string;
  all?: boolean;
  dryRun?: boolean;
  yes?: boolean;
  json?: boolean;
}

/** What lives in a sandbox gets this long to save before it goes. Seconds. */
const STOP_SECONDS = 15;

/**
 * Removes the state of one domain, or all of an installation's, after listing exactly what goes (S15). The order is such
 * that a second call finishes what one that was killed has begun.
 */
export async function reset(options: ResetOptions): Promise<number> {
  if ((options.domain === undefined) === (options.all !== true)) {
    throw new UsageError('reset what? one domain (--domain NAME) or everything (--all)', {
      hint: '--dry-run lists what would go',
    });
  }
  const { config, engine } = await openContext(options);
  const domain = options.domain === undefined ? undefined : DomainId.safeParse(options.domain).data;
  if (options.domain !== undefined && domain === undefined)
    throw new UsageError(`there is no domain "${shown(options.domain)}"`);
  const found = await belongings(engine, config, domain);
  const alive = await livingIn(engine, found);
  if (options.json === true) {
    process.stdout.write(
      `${jsonText({ version: 1, items: found.map((one) => ({ ...one, alive: alive.get(one.id) })) }, 2)}\n`,
    );
  } else if (found.length > 0) process.stdout.write(listing(found, alive));
  if (found.length === 0)
    info(
      domain === undefined ? 'there is nothing to remove' : `there is nothing of domain ${domain} to remove`,
    );
  if (found.length === 0 || options.dryRun === true) {
    engine.close();
    return 0;
  }
  const what =
    domain === undefined
      ? 'all of this, with the login and every history'
      : `domain ${domain}, with its history and sign-ins`;
  const sure = await confirm(`Remove ${what}? Nothing brings it back.`, '--yes', options.yes);
  if (sure) await removeAll(engine, found);
  engine.close();
  return sure ? 0 : 1;
}

/** What a person has open there is worth a word before the question. */
async function livingIn(engine: Engine, found: readonly Belonging[]): Promise<Map<string, number>> {
  const running = found.filter(({ kind, state }) => kind === 'container' && state === 'running');
  const counts = await Promise.all(
    running.map(
      async ({ id }): Promise<[string, number]> => [id, (await statusOf(engine, id))?.living.length ?? 0],
    ),
  );
  return new Map(counts);
}

function listing(found: readonly Belonging[], alive: ReadonlyMap<string, number>): string {
  const rows = found.map(({ kind, name, id, domain, sizeBytes, state }) => {
    const living = alive.get(id) ?? 0;
    const note = kind === 'container' ? `${state ?? ''}${living > 0 ? `, ${living} open` : ''}` : '';
    const size = sizeBytes === undefined ? note || '-' : bytes(sizeBytes);
    return [kind, safeForTerminal(name), domain ?? '(all)', size];
  });
  const total = found.reduce((sum, { sizeBytes = 0 }) => sum + sizeBytes, 0);
  return `${table(['what', 'name', 'domain', 'size'], rows)}in all ${found.length}, ${bytes(total)}\n`;
}

/** Containers first, since they hold the rest; images twice, since one can stand on another. */
async function removeAll(engine: Engine, found: readonly Belonging[]): Promise<void> {
  const containers = found.filter(({ kind }) => kind === 'container');
  await Promise.all(
    containers.map(({ id }) => engine.containers.stop(id, STOP_SECONDS).catch(() => undefined)),
  );
  let left = [...found];
  let failures: string[] = [];
  for (let round = 0; round < 3 && left.length > 0; round++) {
    const again: Belonging[] = [];
    failures = [];
    for (const one of left) {
      const outcome = await removeBelonging(engine, one).catch((error: unknown) => messageOf(error));
      if (outcome === 'removed') process.stdout.write(`removed ${one.kind} ${safeForTerminal(one.name)}\n`);
      else {
        again.push(one);
        failures.push(`${one.kind} ${one.name}${outcome === 'in-use' ? ' is in use' : `: ${outcome}`}`);
      }
    }
    left = again;
  }
  if (failures.length === 0) return;
  throw new OperationError(`still there: ${failures.join('; ')}`, {
    hint: 'end what uses it, then the same command again',
  });
}
