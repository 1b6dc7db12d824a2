/** `pi-sandbox sessions export` (S13). */
import { OperationError, UsageError } from '../../../lib/errors.ts';
import { bytes } from '../../../lib/table.ts';
import type { DomainHistory } from '../../sandbox/history-domains.ts';
import { bytesOfHistory, type Request } from '../../sandbox/history-program.ts';
import { info } from '../../ui/report.ts';
import { locate } from './locate.ts';
import { newFile } from './new-file.ts';
import { nameOf } from './restore.ts';
import { type SessionsOptions, type SessionsScene, withHistories } from './scene.ts';

export interface ExportOptions extends SessionsOptions {
  /** A file that is not there yet; standard output without it. */
  output?: string;
  trash?: boolean;
}

type ExportRequest = Extract<Request, { verb: 'export' | 'export-all' }>;

/** The very bytes of one Session's file, or without a Session a tar of all of a domain's. */
export function sessionsExport(word: string | undefined, options: ExportOptions): Promise<number> {
  requirePlace(options);
  return withHistories(options, async (scene) => {
    const { history, request, name } = await whatToExport(scene, word, options);
    let count = 0;
    const counted = async function* (content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const piece of content) {
        count += piece.length;
        yield piece;
      }
    };
    const file = options.output === undefined ? undefined : await newFile(options.output);
    try {
      await bytesOfHistory(scene, history, request, (content) =>
        file === undefined ? print(counted(content)) : file.write(counted(content)),
      );
      await file?.finish();
    } finally {
      file?.discard();
    }
    if (options.output !== undefined) info(`exported ${name}: ${options.output} (${bytes(count)})`);
    return 0;
  });
}

async function whatToExport(
  scene: SessionsScene,
  word: string | undefined,
  options: ExportOptions,
): Promise<{ history: DomainHistory; request: ExportRequest; name: string }> {
  if (word !== undefined) {
    const located = await locate(scene, word);
    const request = { verb: 'export', selector: located.file } as const;
    return { history: located.history, request, name: nameOf(located) };
  }
  const [history] = scene.histories;
  if (options.domain === undefined || history === undefined) {
    throw new UsageError('what is to be exported?', {
      hint: 'a Session, or with --domain alone all Sessions of that domain as a tar',
    });
  }
  if (history.sessions === undefined) throw new OperationError(`domain ${history.domain} has no history yet`);
  const request = { verb: 'export-all', trash: options.trash === true } as const;
  return { history, request, name: `all history of ${history.domain}` };
}

/** A Session's bytes are a sandbox's: a terminal would obey what it finds in them (rule 8). */
function requirePlace({ output }: ExportOptions): void {
  if (output !== undefined || !process.stdout.isTTY) return;
  throw new UsageError('a Session is not written to a terminal as it is', {
    hint: 'give --output FILE, or redirect the output; sessions show prints it for people',
  });
}

/** To standard output, as long as that takes it: what is wrong with it is told where every verb's is. */
async function print(content: AsyncIterable<Buffer>): Promise<void> {
  const { stdout } = process;
  let failed = false;
  stdout.once('error', () => {
    failed = true;
  });
  for await (const piece of content) {
    if (!stdout.write(piece)) {
      await new Promise((resolve) =>
        stdout.once('drain', resolve).once('error', resolve).once('close', resolve),
      );
    }
    if (failed) return;
  }
}
