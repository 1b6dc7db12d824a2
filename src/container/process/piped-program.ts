import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { messageOf } from '../../lib/errors.ts';
import type { Exited } from '../../wire/index.ts';
import type { PipeNames } from './pipes.ts';
import {
  endWithGrace,
  type Launch,
  type OutputHandler,
  type RunningProgram,
  signalGroup,
  withoutDescriptors,
} from './program.ts';
import { openTerminals } from './terminal-program.ts';

/** After the exit, background processes may keep the output open: this long without any is the end. */
const QUIET_MS = 500;
/** More than the kernel holds back for a stream: what comes beyond it was written after the exit. */
const MAX_AFTER_EXIT_BYTES = 4 * 1024 * 1024;

/** Runs a program with pipes, byte for byte, in a session and process group of its own (S14). */
export async function runWithPipes(
  launch: Launch,
  pipes: PipeNames,
  output: OutputHandler,
): Promise<RunningProgram> {
  const { forProgram, stdin, stdout, stderr, letReopenersThrough } = await pipes.open();
  const { file, arguments: args, environment } = withoutDescriptors(launch, openTerminals());
  const child = spawn(file, args, {
    cwd: launch.directory,
    env: { ...environment, PWD: launch.directory },
    stdio: forProgram,
    detached: true,
  });
  for (const fd of forProgram) closeSync(fd);
  // A program that does not read its input closes it early; that is its business and no failure of ours.
  stdin.on('error', () => undefined);
  let dead = false;
  let stopReopeners = (): void => undefined;
  const quiet = quietTimer(() => {
    for (const stream of [stdout, stderr]) stream.destroy();
  });
  const drained = Promise.all([
    handOn(stdout, quiet, (bytes) => output('stdout', bytes)),
    handOn(stderr, quiet, (bytes) => output('stderr', bytes)),
  ]);
  const died = new Promise<Exited>((resolve) => {
    child.once('error', (error) => {
      output('stderr', Buffer.from(`pi-sandbox: ${launch.file} cannot be run: ${messageOf(error)}\n`));
      resolve({ code: 126, signal: null });
    });
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const exited = died.then(async (exit) => {
    dead = true;
    stopReopeners();
    stdin.destroy();
    quiet.begin();
    await drained;
    return exit;
  });
  const pid = child.pid ?? 0;

  return {
    pid,
    exited,
    write: (bytes) =>
      new Promise((resolve) => {
        if (!stdin.writable) return resolve();
        stdin.write(bytes, () => resolve());
      }),
    endInput: () => {
      if (dead || stdin.writableEnded || stdin.destroyed) return;
      stopReopeners = letReopenersThrough();
      stdin.end();
    },
    resize: () => undefined,
    signal: (name) => {
      if (!dead) signalGroup(pid, name);
    },
    closeOutput: (stream) => (stream === 'stdout' ? stdout : stderr).destroy(),
    hangUp: () => endWithGrace(pid, 'SIGTERM', () => dead, launch.hangUpGraceMs),
  };
}

interface QuietTimer {
  begin(): void;
  /** Something was read and handed on. */
  restart(bytes: number): void;
  /** A slow client holds the output back; then silence says nothing. */
  hold(): void;
}

function quietTimer(onQuiet: () => void): QuietTimer {
  let timer: NodeJS.Timeout | undefined;
  let begun = false;
  let held = 0;
  let afterExit = 0;
  const arm = (): void => {
    clearTimeout(timer);
    if (!begun || held > 0) return;
    // One more round of the event loop: after a long pause of ours there may be output that was not looked at yet.
    timer = setTimeout(() => {
      timer = setTimeout(onQuiet, 1);
    }, QUIET_MS);
  };
  return {
    begin: () => {
      begun = true;
      arm();
    },
    restart: (bytes) => {
      held--;
      if (begun) afterExit += bytes;
      if (afterExit > MAX_AFTER_EXIT_BYTES) onQuiet();
      else arm();
    },
    hold: () => {
      held++;
      clearTimeout(timer);
    },
  };
}

/** Settles when the stream has ended or was closed. */
function handOn(
  stream: Readable,
  quiet: QuietTimer,
  take: (bytes: Buffer) => Promise<void> | undefined,
): Promise<void> {
  stream.on('error', () => undefined);
  stream.on('data', (bytes: Buffer) => {
    quiet.hold();
    const waiting = take(bytes);
    if (waiting === undefined) return quiet.restart(bytes.length);
    stream.pause();
    void waiting.then(() => {
      stream.resume();
      quiet.restart(bytes.length);
    });
  });
  return new Promise((resolve) => {
    stream.once('end', resolve).once('close', resolve);
  });
}
