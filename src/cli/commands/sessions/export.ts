/** `pi-sandbox sessions export` (S13). */
import { createWriteStream } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { hasCode, OperationError, UsageError } from '../../../lib/errors.ts';
import { FileError } from '../../../lib/file-error.ts';
import type { DomainHistory } from '../../sandbox/history-domains.ts';
import { bytesOfHistory, type Request } from '../../sandbox/history-program.ts';
import { info } from '../../ui/report.ts';
import { bytes } from '../../ui/table.ts';
import { locate } from './locate.ts';
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
    await bytesOfHistory(scene, history, request, (content) => write(counted(content), options.output)).catch(
      (error: unknown) => discard(error, options.output),
    );
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

async function write(content: AsyncIterable<Buffer>, output: string | undefined): Promise<void> {
  if (output === undefined) {
    for await (const piece of content) {
      if (!process.stdout.write(piece)) await drained();
    }
    return;
  }
  const file = createWriteStream(output, { flags: 'wx', mode: 0o600 });
  try {
    await pipeline(content, file);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    throw new UsageError(`${output} is there already`, { hint: 'choose a name that is free' });
  }
}

function drained(): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.once('drain', resolve).once('error', reject).once('close', resolve);
  });
}

/** Half a Session is none: nothing that looks like one stays. */
async function discard(error: unknown, output: string | undefined): Promise<never> {
  if (output !== undefined && !(error instanceof UsageError)) {
    await unlink(output).catch(() => undefined);
    if (hasCode(error, 'ENOENT', 'EACCES', 'ENOSPC', 'EISDIR', 'ENOTDIR')) {
      throw new FileError('write', output, error);
    }
  }
  throw error;
}
