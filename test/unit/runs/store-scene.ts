/** Runs on a disk of a test's own, without owners: made as a start makes them, then brought to where a test wants them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { projectAt } from '../../../src/jobs/index.ts';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import {
  checkGraph,
  createRun,
  type Graph,
  type HeldRun,
  LIMITS,
  type Manifest,
  type RunCaller,
  type RunDeps,
  type RunState,
  type RunsPlace,
  runsPlace,
  type StartRequest,
  writeManifest,
  writeState,
} from '../../../src/runs/index.ts';

export const DEPS: RunDeps = { clock: systemClock, identity: { pid: 42, host: 'here', uid: 1000 } };
export const OPERATOR: RunCaller = { session: null, operator: true };
export const session = (name: string): RunCaller => ({ session: name, operator: false });

export interface StoreScene {
  readonly directory: string;
  readonly place: RunsPlace;
  request(more?: Partial<StartRequest>): StartRequest;
  /** With its lock held. */
  start(more?: Partial<StartRequest>, at?: Date): Promise<HeldRun>;
  /** A run whose owner is gone. */
  orphan(manifest?: Partial<Manifest>, state?: Partial<RunState>, graph?: Graph): Promise<HeldRun>;
  /** A run that has ended. */
  ended(manifest?: Partial<Manifest>, state?: Partial<RunState>, graph?: Graph): Promise<HeldRun>;
}

export function graphOf(value: object): Graph {
  const checked = checkGraph(value, LIMITS.mostSteps);
  if ('objections' in checked) throw new Error(checked.objections.join('\n'));
  return checked.graph;
}

/** A clock that stands where it is put. */
export function clockAt(time: string): Clock {
  return { ...systemClock, now: () => new Date(time) };
}

export function runRequest(project: string): StartRequest {
  return {
    graph: graphOf({ objective: 'try it', steps: [{ id: 'one', prompt: 'do it' }] }),
    project: projectAt(project),
    cwd: project,
    session: null,
    below: { parentJob: null, depth: 0, maxDepth: 2 },
    settings: {
      concurrency: LIMITS.concurrency,
      timeoutSeconds: LIMITS.runSeconds,
      terminalRetentionSeconds: LIMITS.retentionSeconds,
      retry: 'died',
      maxCost: null,
      maxTokens: null,
    },
    schedule: null,
  };
}

export function storeScene(): StoreScene {
  const directory = mkdtempSync(join(tmpdir(), 'pi-runs-'));
  const place = runsPlace({ XDG_STATE_HOME: join(directory, 'state') }, directory);
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const request: StoreScene['request'] = (more = {}) => ({ ...runRequest(directory), ...more });
  const start: StoreScene['start'] = async (more = {}, at) => {
    const clock = at === undefined ? DEPS.clock : clockAt(at.toISOString());
    const held = await createRun(place, request(more), { ...DEPS, clock });
    onTestFinished(() => held.lock.release());
    return held;
  };
  const left = async (
    manifest: Partial<Manifest>,
    state: Partial<RunState>,
    graph: Graph | undefined,
  ): Promise<HeldRun> => {
    const held = await start(graph === undefined ? {} : { graph });
    const now = { ...held, manifest: { ...held.manifest, ...manifest }, state: { ...held.state, ...state } };
    await writeManifest(held.directory, now.manifest);
    await writeState(held.directory, now.state);
    held.lock.release();
    return now;
  };
  return {
    directory,
    place,
    request,
    start,
    orphan: (manifest = {}, state = {}, graph) => left(manifest, { status: 'running', ...state }, graph),
    ended: (manifest = {}, state = {}, graph) =>
      left(
        manifest,
        { status: 'succeeded', terminal: true, terminalAt: new Date().toISOString(), ...state },
        graph,
      ),
  };
}
