/**
 * Owning a run (R1, R3, R7): from a held lock until the graph has ended. Everything that it does next follows from
 * `status.json` and from the jobs on the disk, so one owner goes on where another was killed.
 */
import { clearHalfWritten } from '../../jobs/index.ts';
import { makeStateDirectory } from '../../lib/atomic-file.ts';
import { messageOf } from '../../lib/errors.ts';
import { writeManifest } from '../files.ts';
import type { Step } from '../graph/graph.ts';
import type { HeldRun } from '../held-run.ts';
import { LIMITS } from '../limits.ts';
import { artifactsDirectory } from '../places.ts';
import { type RunInput, readySteps, stepsToEnd } from '../scheduler.ts';
import { REASON_CHARACTERS, type RunState } from '../status-file.ts';
import { type Ledger, openLedger } from './ledger.ts';
import { openMailbox } from './messages.ts';
import type { Owned, OwnerDeps } from './options.ts';
import { openRequests } from './requests.ts';
import { openRunServer, type RunServer } from './server.ts';
import { keepBudget, openSpending } from './spending.ts';
import { stepJob } from './step-job.ts';
import { liveStep } from './step-life.ts';
import { keepTime } from './time.ts';
import { openStepWorktrees } from './worktrees.ts';

/** Of one owner: what repeats itself need not fill a disk. */
const MOST_PROBLEMS = 100;

export interface OwnOptions {
  /** Nothing begins any more: what runs is ended, and so is the run. */
  readonly cancel?: string;
}

/**
 * Sees a run to its end. Its lock is free when this returns or throws.
 *
 * @throws FileError when something could not be written: the jobs go on then, and the next owner finds them
 */
export async function ownRun(held: HeldRun, deps: OwnerDeps, { cancel }: OwnOptions = {}): Promise<RunState> {
  const over = new AbortController();
  const { promise: broken, reject: fail } = Promise.withResolvers<never>();
  broken.catch(() => undefined);
  const ended = Promise.withResolvers<void>();
  let server: RunServer | undefined;
  let ledger: Ledger | undefined;
  let act = (_state: RunState): void => undefined;
  try {
    const owner = await becomeOwner(held, deps);
    const opened = await openLedger(owner, {
      clock: deps.clock,
      next: (state) => nextInput(owner, state),
      onChange(state, seq) {
        server?.notify(seq);
        act(state);
        if (state.terminal) ended.resolve();
      },
      onFailure: fail,
    });
    ledger = opened;
    const worktrees = deps.worktrees ?? (await openStepWorktrees(owner, deps, opened));
    const onFailure = problemTeller(opened, deps);
    const owned: Owned = {
      held: owner,
      deps: { ...deps, onFailure, ...(worktrees && { worktrees }) },
      ledger: opened,
      over: over.signal,
    };
    const steps = openSteps(owned, fail);
    const handle = openRequests(owned, steps.mailbox);
    server = await openRunServer(owner, { handle, seq: () => opened.seq }).catch((error: unknown) => {
      // It goes on: its files say what it does.
      onFailure(error);
      return undefined;
    });
    act = steps.act;
    await begin(owner, opened, cancel);
    act(opened.state);
    if (opened.state.terminal) ended.resolve();
    for (const work of [keepTime(owned), keepBudget(owned, steps.spending), keepSwept(owned)])
      work.catch(fail);
    await Promise.race([ended.promise, broken]);
    return opened.state;
  } finally {
    over.abort();
    await ledger?.close();
    server?.retire();
    held.lock.release();
    // Answers that tell of the end are written first.
    await new Promise((resolve) => setImmediate(resolve));
    await server?.close();
  }
}

/** What goes wrong and ends nothing is told with the run's other events, as often as need be. */
function problemTeller(ledger: Ledger, { onFailure }: OwnerDeps): (error: unknown) => void {
  let count = 0;
  return (error) => {
    onFailure?.(error);
    if (++count > MOST_PROBLEMS) return;
    const text = messageOf(error).slice(0, REASON_CHARACTERS);
    // What cannot be written any more ends the owner by itself.
    ledger.note({ type: 'problem', text }).catch(() => undefined);
  };
}

/** What a killed owner has left half-written goes. Who runs it now is written, for people to read; by its session it is told whose it is (R6). */
async function becomeOwner(held: HeldRun, { clock, identity }: OwnerDeps): Promise<HeldRun> {
  const manifest = {
    ...held.manifest,
    ownerPid: identity.pid,
    ownerContainer: identity.host,
    ownerStartedAt: clock.now().toISOString(),
    adopted: false,
  };
  const artifacts = artifactsDirectory(held.directory);
  await makeStateDirectory(artifacts);
  for (const directory of [held.directory, artifacts]) await clearHalfWritten(directory);
  await writeManifest(held.directory, manifest);
  return { ...held, manifest };
}

async function begin({ manifest }: HeldRun, ledger: Ledger, cancel: string | undefined): Promise<void> {
  const isNew = ledger.state.status === 'queued';
  const { ownerSessionId: session, ownerPid: pid, ownerContainer: container } = manifest;
  if (!isNew) await ledger.note({ type: 'owner', session, pid, container, before: session });
  await ledger.put(cancel === undefined ? { type: 'begun' } : { type: 'cancel', reason: cancel });
}

/** The attempt of a step is written before its job is made. */
function nextInput(held: HeldRun, state: RunState): RunInput | undefined {
  const { graph, concurrency } = held.manifest;
  const [step] = readySteps(state, graph, concurrency);
  return step && { type: 'step-started', step: step.id, job: stepJob(held, step) };
}

/** Every running step has one life in this owner, and hears when its end is wanted. */
function openSteps(owned: Owned, fail: (error: unknown) => void) {
  const { held } = owned;
  const spending = openSpending();
  const mailbox = openMailbox(owned);
  const lives = new Map<string, AbortController>();

  function start(step: Step): void {
    const wanted = new AbortController();
    lives.set(step.id, wanted);
    const onStatus = (status: string): void => {
      if (status === 'running') mailbox.deliver(step).catch(fail);
    };
    liveStep(owned, spending, { step, wanted: wanted.signal, onStatus }).catch(fail);
  }

  return {
    spending,
    mailbox,
    act(state: RunState): void {
      for (const step of held.manifest.graph.steps) {
        if (state.steps[step.id]?.status === 'running' && !lives.has(step.id)) start(step);
      }
      for (const id of stepsToEnd(state)) lives.get(id)?.abort();
    },
  };
}

/** Old runs are cleared away by whoever runs one, by a clock that does not jump (R9). What fails is no run's affair. */
async function keepSwept({ deps, over }: Owned): Promise<void> {
  const { sweep, clock, onFailure } = deps;
  while (sweep !== undefined && !over.aborted) {
    await sweep(over).catch((error: unknown) => onFailure?.(error));
    await clock.sleep(LIMITS.sweepSeconds * 1_000, over).catch(() => undefined);
  }
}
