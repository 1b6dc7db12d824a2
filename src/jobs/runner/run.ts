/** One run with everything that follows it: its state, its files, and who is told of it. */
import { messageOf } from '../../lib/errors.ts';
import type { Notice } from '../control/protocol.ts';
import { PROTOCOL_VERSION } from '../control/protocol.ts';
import { type ControlServer, openControlServer } from '../control/server.ts';
import { writeSmall } from '../files.ts';
import type { HeldJob } from '../held-job.ts';
import { BEGUN, type RunState } from '../status.ts';
import { type Failures, openFailures } from './failures.ts';
import { latestFile } from './latest-file.ts';
import { type Life, openLife, type RunEnd, type RunView } from './life.ts';
import type { RunOptions } from './options.ts';
import { type Progress, progressLine } from './progress-lines.ts';
import { openProgressLog } from './progress-log.ts';
import { openQuestions, type Questions } from './questions.ts';
import { openRequests } from './requests.ts';
import { openSteering, type Steering } from './steering.ts';
import { openStopping, type Stopping } from './stopping.ts';

export interface Run {
  readonly held: HeldJob;
  readonly options: RunOptions;
  readonly life: Life;
  readonly stopping: Stopping;
  readonly questions: Questions;
  readonly steering: Steering;
  readonly failures: Failures;
  /** What control requests see of the run beside its state. */
  readonly view: RunView;
  /** Writes a line of `progress.log` and shows it to those that watch; resolves when it is written. */
  tell(progress: Progress): Promise<void>;
  /** The model that wrote the latest message. */
  wrote(model: string): void;
  /** Its place in the queue for a slot; undefined when it has one. */
  queued(position: number | undefined): void;
  /** All that was told is written. */
  settled(): Promise<void>;
  /** Listens on the job's socket. A run goes on without one, which is told. */
  serve(): Promise<void>;
  /** Nobody can connect any more; the lock must still be held. */
  retire(): void;
  /** Everybody who waits hears of the end, if it was committed, and is let go. */
  farewell(end: RunEnd | Error): Promise<void>;
}

export function openRun(held: HeldJob, options: RunOptions): Run {
  const { directory, record, place } = held;
  const { clock } = options;
  const failures = openFailures(directory, clock);
  const onFailure = (error: unknown): void => failures.note(error);
  const log = openProgressLog(directory, onFailure);
  const statusFile = latestFile(writeStatus, onFailure);
  const modelFile = latestFile((model) => writeSmall(directory, 'model', model), onFailure);
  const view: RunView = { position: undefined, model: undefined };
  const over = Promise.withResolvers<RunEnd>();
  over.promise.catch(() => {});
  let server: ControlServer | undefined;
  let shown: string = BEGUN.status;
  let written = shown;

  const life = openLife(showStatus);
  const stopping = openStopping({ life, clock, onFailure });
  const questions = openQuestions({
    ask: record.ask,
    tell: (progress) => void tell(progress),
    onCount: (open) => life.happen({ type: open > 0 ? 'asked' : 'answered' }),
  });
  const steering = openSteering(clock);

  /** How a run ended is written and told when it is committed, and not before. */
  function showStatus({ live, status }: RunState): void {
    if (!live || status === shown) return;
    shown = status;
    statusFile.put(status);
  }

  /** Who hears of a status finds it in the file. */
  async function writeStatus(status: string): Promise<void> {
    try {
      await writeSmall(directory, 'status', status);
    } finally {
      written = status;
      if (life.state.live) server?.notify(statusNotice());
    }
  }

  function statusNotice(): Notice {
    const { position } = view;
    const status = { version: PROTOCOL_VERSION, event: 'status', status: written } as const;
    return position === undefined ? status : { ...status, position };
  }

  function tell(progress: Progress): Promise<void> {
    const line = progressLine(clock.now(), progress);
    options.onProgress?.(line);
    server?.notify({ version: PROTOCOL_VERSION, event: 'progress', line });
    return log.write(line);
  }

  return {
    held,
    options,
    life,
    stopping,
    questions,
    steering,
    failures,
    view,
    tell,
    wrote(model) {
      if (model === view.model) return;
      view.model = model;
      modelFile.put(model);
    },
    queued(position) {
      if (position === view.position) return;
      view.position = position;
      server?.notify(statusNotice());
    },
    async settled() {
      await Promise.all([statusFile.settled(), modelFile.settled(), log.close()]);
      await failures.settled();
    },
    async serve() {
      const handle = openRequests({ life, stopping, questions, steering, view, ended: over.promise });
      try {
        server = await openControlServer({ place, directory, handle, greeting: () => [statusNotice()] });
      } catch (error) {
        failures.note(error);
        await tell({ kind: 'warning', text: `it cannot be controlled: ${messageOf(error)}` });
      }
    },
    retire: () => server?.retire(),
    async farewell(end) {
      if (end instanceof Error) over.reject(end);
      else {
        over.resolve(end);
        server?.notify({ version: PROTOCOL_VERSION, event: 'end', ...end });
      }
      // Answers that waited for the end are written first.
      await new Promise((resolve) => setImmediate(resolve));
      await server?.close();
    },
  };
}
