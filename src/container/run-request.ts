import { OperationError } from '../lib/errors.ts';
import type { Exited, Frame, FrameConnection, RunRequest, SignalName } from '../wire/index.ts';
import { InputLedger } from '../wire/index.ts';
import { memoryUse, outOfMemoryKills } from './memory.ts';
import { runWithPipes } from './process/piped-program.ts';
import type { PipeNames } from './process/pipes.ts';
import { launchOf, type OutputHandler, type ProgramPlaces, type RunningProgram } from './process/program.ts';
import { runInTerminal } from './process/terminal-program.ts';
import { descendantsOf, endProcesses } from './processes.ts';

/** What pi's tools left running gets this long to end after a signal has ended pi. */
const ORPHAN_GRACE_MS = 1_000;

/** Signals on which pi may leave its tools running: it has no handler for the first, and none can have the second. */
const ORPHANING: readonly SignalName[] = ['SIGINT', 'SIGQUIT', 'SIGKILL'];

/**
 * Starts the request's program; undefined when there is no such command. Its first output comes later than anything
 * that the caller sends at once.
 *
 * @param pipes for a program without a terminal
 */
export async function startProgram(
  connection: FrameConnection,
  request: RunRequest,
  environment: NodeJS.ProcessEnv,
  places: ProgramPlaces,
  pipes: PipeNames | undefined,
): Promise<RunningProgram | undefined> {
  const output: OutputHandler = (stream, bytes) =>
    connection.send({ type: stream === 'stdout' ? 'data' : 'error-data', bytes })
      ? undefined
      : connection.drained();
  const launch = launchOf(request, environment, places);
  if (launch === undefined) return undefined;
  if (request.terminal !== undefined) return runInTerminal(launch, request.terminal, output);
  if (pipes === undefined) throw new OperationError('no pipes were made for a program without a terminal');
  return runWithPipes(launch, pipes, output);
}

/**
 * Relays the client's frames to the program. The end of the connection, on purpose or not, is the loss of the client,
 * and reaches the program as the loss of a terminal or of a pipe's other end does (S14).
 */
export async function relay(
  connection: FrameConnection,
  program: RunningProgram,
  isPi: boolean,
): Promise<Exited> {
  const ledger = new InputLedger();
  let orphans: ReturnType<typeof descendantsOf> = [];
  connection.onFrame((frame) => {
    if (frame.type === 'data') {
      ledger.received(frame.bytes.length);
      void program.write(frame.bytes).then(() => {
        const consumed = ledger.consumed(frame.bytes.length);
        if (consumed > 0) connection.send({ type: 'ack', consumed });
      });
      return;
    }
    if (frame.type === 'signal' && isPi && ORPHANING.includes(frame.value.signal)) {
      orphans = descendantsOf(program.pid);
    }
    handOver(frame, program);
  });
  void connection.closed.then(() => program.hangUp());
  const killsBefore = outOfMemoryKills();
  const exited = await program.exited;
  // Only if the signal was what ended it: a pi that took it and went on has looked after its tools itself.
  if (ORPHANING.some((name) => exited.signal === name)) await endProcesses(orphans, ORPHAN_GRACE_MS);
  return withMemoryReason(exited, killsBefore);
}

function handOver(frame: Frame, program: RunningProgram): void {
  switch (frame.type) {
    case 'end-of-input':
      program.endInput();
      return;
    case 'resize':
      program.resize(frame.value);
      return;
    case 'signal':
      program.signal(frame.value.signal);
      return;
    case 'output-closed':
      program.closeOutput(frame.value.stream);
      return;
    default:
      return;
  }
}

/**
 * A failure that came with a kill for lack of memory is named as that, with the limit (O6): of the program itself, or of
 * what it ran, which a shell would tell by the number 137 alone.
 */
function withMemoryReason(exited: Exited, killsBefore: number): Exited {
  if (exited.code === 0 || outOfMemoryKills() === killsBefore) return exited;
  return { ...exited, outOfMemory: { limit: memoryUse().limit ?? 0 } };
}
