import { EXIT, UsageError } from '../../lib/errors.ts';
import { openContext } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import { type Endpoint, parseEndpoint } from '../sandbox/copy/endpoint.ts';
import { watchInterruptions } from '../sandbox/interruption.ts';
import { findSandbox } from '../sandbox/resolve-running.ts';
import { warn } from '../ui/report.ts';

export interface CpOptions extends GlobalOptions {
  domain?: string;
  followLink?: boolean;
}

/** So many things that were left out are named one by one (rule 7). */
const MAX_SKIPPED = 20;

/** Copies between this machine and a running sandbox, either way, as `docker cp` does (S15). */
export async function cp(words: readonly string[], options: CpOptions): Promise<number> {
  const [from, to, ...more] = words;
  if (from === undefined || to === undefined || more.length > 0) {
    throw new UsageError('cp takes what to copy and where to', { hint: 'pi-sandbox cp .:/tmp/report.txt .' });
  }
  const [source, target] = [parseEndpoint(from), parseEndpoint(to)];
  const inside = [source, target].find((end) => end.where === 'sandbox');
  if (inside === undefined || source.where === target.where) {
    throw new UsageError('one of the two must be in a sandbox, written as project:/path', {
      hint: 'pi-sandbox cp ./data.csv .:/tmp/ copies into the sandbox of the current directory',
    });
  }
  if (target.where === 'stream' && process.stdout.isTTY) {
    throw new UsageError('a tar is nothing for a terminal', {
      hint: `pi-sandbox cp ${from} - | tar -t, or > copy.tar`,
    });
  }
  const { config, engine } = await openContext(options);
  const sandbox = await findSandbox(engine, config.INSTALLATION_PREFIX, inside.sandbox, options.domain);
  const follow = options.followLink === true;
  const { signal, exitCode } = watchInterruptions();
  let skipped = 0;
  const onSkipped = (line: string): void => {
    skipped++;
    if (skipped <= MAX_SKIPPED) warn(line);
  };
  try {
    await copy(source, target);
  } catch (error) {
    const interrupted = exitCode();
    if (interrupted === undefined) throw error;
    return interrupted;
  } finally {
    engine.close();
  }
  if (skipped > MAX_SKIPPED) warn(`${skipped - MAX_SKIPPED} more were left out`);
  return skipped === 0 ? 0 : EXIT.failed;

  async function copy(one: Endpoint, other: Endpoint): Promise<void> {
    if (one.where === 'sandbox') {
      const { copyFromSandbox, tarFromSandbox } = await import('../sandbox/copy/from-sandbox.ts');
      const what = { path: one.path, follow, onSkipped, signal };
      if (other.where === 'stream') await tarFromSandbox(engine, sandbox, what, process.stdout);
      else if (other.where === 'here') await copyFromSandbox(engine, sandbox, what, other.path);
    } else if (other.where === 'sandbox') {
      const { copyToSandbox, tarToSandbox } = await import('../sandbox/copy/to-sandbox.ts');
      if (one.where === 'stream')
        await tarToSandbox(engine, sandbox, { input: process.stdin, signal }, other.path);
      else await copyToSandbox(engine, sandbox, { source: one.path, follow, onSkipped, signal }, other.path);
    }
  }
}
