/** What every verb of `sessions` begins with: whose history there is on this engine, and what may work on it (S13). */
import { EXIT, OperationError, UsageError } from '../../../lib/errors.ts';
import { type CommandContext, openContext } from '../../context.ts';
import type { GlobalOptions } from '../../global-options.ts';
import { chosenDomain, type DomainHistory, domainHistories } from '../../sandbox/history-domains.ts';
import { type DomainAnswer, type HistoryScene, requireImage } from '../../sandbox/history-program.ts';
import { planImage } from '../../sandbox/image.ts';
import { warn } from '../../ui/report.ts';

export interface SessionsOptions extends GlobalOptions {
  domain?: string;
}

export interface SessionsScene extends HistoryScene {
  readonly context: CommandContext;
  /** Every domain, or the one chosen with `--domain`. */
  readonly histories: readonly DomainHistory[];
}

/** Runs a verb on the histories that its `--domain` chooses. */
export async function withHistories(
  options: SessionsOptions,
  run: (scene: SessionsScene) => Promise<number>,
): Promise<number> {
  const context = await openContext(options);
  const { config, engine } = context;
  try {
    const all = await domainHistories(engine, config);
    const histories = options.domain === undefined ? all : [chosenDomain(all, options.domain)];
    let image: string | undefined;
    const scene = {
      context,
      engine,
      config,
      histories,
      image: () => (image ??= planImage(config.INSTALLATION_PREFIX, config).name),
    };
    await requireImage(scene, histories);
    return await run(scene);
  } finally {
    engine.close();
  }
}

/** A listing takes its domain as a word, too. */
export function oneDomain<T extends SessionsOptions>(word: string | undefined, options: T): T {
  return word === undefined ? options : { ...options, domain: word };
}

/**
 * The domains that a verb with a `[domain]` and `--all` is to change.
 *
 * @throws UsageError for neither or both
 */
export function domainsToChange(
  { histories }: SessionsScene,
  word: string | undefined,
  all: boolean,
): readonly DomainHistory[] {
  if (word !== undefined && !all) return [chosenDomain(histories, word)];
  if (word === undefined && all) return histories;
  const listed = histories.map(({ domain }) => domain).join(', ');
  throw new UsageError(word === undefined ? 'which domain?' : 'a domain and --all exclude each other', {
    hint: `name one of ${listed}, or give --all`,
  });
}

/** Says which domains could not be worked on, and gives the exit code. */
export function exitCodeOf(answers: readonly DomainAnswer[]): number {
  let code = 0;
  for (const { history, failed } of answers) {
    if (failed === undefined) continue;
    warn(`${history.domain}: ${failed.message}${failed.hint === undefined ? '' : ` (${failed.hint})`}`);
    code ||= failed.exitCode;
  }
  return code;
}

/** Why a domain's program said no, as the failure of this command. */
export function failureOf({ message, hint, exitCode }: NonNullable<DomainAnswer['failed']>): Error {
  return exitCode === EXIT.usage ? new UsageError(message, { hint }) : new OperationError(message, { hint });
}
