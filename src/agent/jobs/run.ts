import { createJob, EXIT_CODES, runJob } from '../../jobs/index.ts';
import { randomId } from '../../lib/ids.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { jobContext, PI } from './context.ts';
import { prepareJob, type StartOptions } from './prepare.ts';
import { type PromptOptions, promptOf } from './prompt.ts';
import { printOutput, printResult } from './result.ts';

interface RunVerbOptions extends StartOptions, PromptOptions {
  readonly json?: boolean;
}

/** Runs a job in this very process: progress on standard error, its result on standard output, its exit code (J6). */
export async function run(
  words: readonly string[],
  piArguments: readonly string[],
  options: RunVerbOptions,
): Promise<number> {
  const context = await jobContext();
  const prompt = await promptOf(words, options);
  const spec = await prepareJob(context, { prompt, piArguments, runMode: 'foreground' }, options);
  const signals = listen();
  const held = await createJob(context.place, spec, context.deps);
  process.stderr.write(`name: ${held.record.name}\n`);
  let printed = false;
  const { status } = await runJob(held, {
    clock: context.deps.clock,
    ids: () => randomId(8),
    env: context.env,
    piCommand: PI,
    onProgress: (line) => void process.stderr.write(`${safeForTerminal(line)}\n`),
    // pi takes its time to end; who waits for its answer need not.
    onResult(text) {
      if (options.json) return;
      printOutput(text);
      printed = true;
    },
    ...signals,
  });
  await printResult(held.directory, { ...options, printed });
  return EXIT_CODES[status];
}

/** The first Ctrl-C aborts the turn, a second one kills; so do the signals that end programs. */
function listen(): { signal: AbortSignal; killSignal: AbortSignal } {
  const [abort, kill] = [new AbortController(), new AbortController()];
  process.on('SIGINT', () => (abort.signal.aborted ? kill : abort).abort());
  process.on('SIGTERM', () => kill.abort());
  process.on('SIGHUP', () => kill.abort());
  return { signal: abort.signal, killSignal: kill.signal };
}
