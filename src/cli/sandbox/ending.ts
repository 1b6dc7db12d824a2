import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ContainerInfo, Engine } from '../../engine/index.ts';
import { messageOf, OperationError } from '../../lib/errors.ts';
import type { Exited, SignalName } from '../../wire/index.ts';
import { warn } from '../ui/report.ts';

/** How a program in the sandbox ended, as seen from here; `signal` is the last that this command was to pass on. */
export type Ending = ({ how: 'exited'; exited: Exited } | { how: 'lost' }) & { signal?: SignalName };

/** The sandbox went from under the program, which is therefore killed: 128 + SIGKILL, as a shell would report it. */
export class SandboxGoneError extends OperationError {
  override readonly exitCode = 137;
}

/** The exit code that a shell would report for the program. */
export function exitCodeOf({ code, signal }: Exited): number {
  if (code !== null) return code;
  const signals: Record<string, number | undefined> = constants.signals;
  return 128 + (signals[signal ?? ''] ?? 0);
}

/** What to call the sandbox: its container's name, and its project's directory as the user knows it. */
interface Named {
  name: string;
  project: string;
}

/**
 * The program's exit code; why the kernel ended it is told. A lost connection is no exit (S20): then the engine is
 * asked what has become of the sandbox.
 *
 * @throws SandboxGoneError; OperationError where the program may still run
 */
export async function exitCodeAfter(
  ending: Ending,
  engine: Engine,
  { name, project }: Named,
): Promise<number> {
  if (ending.how === 'exited') {
    const explanation = describeEnding(ending.exited);
    if (explanation !== undefined) warn(explanation);
    return exitCodeOf(ending.exited);
  }
  const found = await afterLoss(engine, name);
  if (found instanceof Error) {
    throw new OperationError(
      `the connection to ${name} was lost, and the engine does not answer: ${messageOf(found)}`,
      { hint: 'the sandbox may still run; pi-sandbox ps tells when the engine is back' },
    );
  }
  if (found?.state === 'running') {
    throw new OperationError(`the connection to ${name} was lost; the sandbox still runs`, {
      hint: `pi-sandbox start ${project} joins it again`,
    });
  }
  const reason = found?.oomKilled === true ? 'it ran out of memory' : 'it was stopped or killed';
  throw new SandboxGoneError(`the sandbox ${name} is gone: ${reason}`, {
    hint: `pi-sandbox logs ${project} shows its last lines`,
  });
}

/** What to tell the user when the program did not simply exit. */
function describeEnding(exited: Exited): string | undefined {
  if (exited.outOfMemory === undefined) return undefined;
  const mebibytes = Math.round(exited.outOfMemory.limit / 2 ** 20);
  const what = exited.signal === 'SIGKILL' ? 'it was' : 'something in the sandbox was';
  return `${what} ended by the kernel for lack of memory (limit ${mebibytes} MiB): raise it with --memory or MEMORY=`;
}

/** How long an engine may still call a container running that was killed a moment ago. */
const SETTLE_MS = 2_000;

/** What has become of the sandbox; the stream's end is often here before the engine knows of the container's. */
async function afterLoss(engine: Engine, name: string): Promise<ContainerInfo | undefined | Error> {
  const look = (): Promise<ContainerInfo | undefined | Error> =>
    engine.containers.inspect(name).catch((error: unknown) => new Error(messageOf(error)));
  let found = await look();
  const running = (): boolean => !(found instanceof Error) && found?.state === 'running';
  for (const end = Date.now() + SETTLE_MS; running() && Date.now() < end; found = await look()) {
    await sleep(100);
  }
  return found;
}
