/** Schedules of a test's own, with real files and locks; a run is executed by the test, which holds its lock. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectAt } from '../../src/jobs/index.ts';
import {
  addSchedule,
  checkGraph,
  type FireOptions,
  type FireReport,
  fireDue,
  type Graph,
  type HeldRun,
  LIMITS,
  type NewSchedule,
  parseScheduleId,
  type RunsPlace,
  readSchedule,
  runsPlace,
  type Schedule,
  writeState,
} from '../../src/runs/index.ts';
import { type HandClock, handClock } from './hand-clock.ts';

export interface ScheduleWorld {
  readonly place: RunsPlace;
  readonly project: string;
  readonly clock: HandClock;
  readonly options: FireOptions;
  /** What was handed over to an owner, and still goes on. */
  readonly owned: HeldRun[];
  add(more?: Partial<NewSchedule> & { id?: string }): Promise<Schedule>;
  schedule(id?: string): Promise<Schedule>;
  fire(): Promise<FireReport>;
  /** The owner of a run finishes it. */
  end(run: HeldRun): Promise<void>;
  stop(): void;
}

export const GRAPH: Graph = graph();

function graph(): Graph {
  const checked = checkGraph({ objective: 'try it', steps: [{ id: 'one', prompt: 'do it' }] });
  if ('graph' in checked) return checked.graph;
  throw new Error(checked.objections.join('\n'));
}

/** It is `now` in UTC; a schedule that is added is due every day at 12:00. */
export function scheduleWorld(now = '2026-12-01T11:59:00Z'): ScheduleWorld {
  const directory = mkdtempSync(join(tmpdir(), 'pi-schedules-'));
  const project = join(directory, 'project');
  mkdirSync(project);
  const place = runsPlace({ XDG_STATE_HOME: join(directory, 'state') }, directory);
  const clock = handClock(now);
  const owned: HeldRun[] = [];
  const options: FireOptions = {
    clock,
    identity: { pid: process.pid, host: 'here', uid: process.getuid?.() ?? 0 },
    launch: async (held) => {
      owned.push(held);
    },
  };
  return {
    place,
    project,
    clock,
    options,
    owned,
    add: ({ id = 'noon', ...more } = {}) =>
      addSchedule(place, { ...newSchedule(project, id), ...more }, options),
    async schedule(id = 'noon') {
      const facts = await readSchedule(place, parseScheduleId(id));
      if (facts.kind === 'known') return facts.value;
      throw new Error(`schedule ${id}: ${facts.kind}`);
    },
    fire: () => fireDue(place, options),
    async end({ directory: run, state, lock }) {
      await writeState(run, {
        ...state,
        status: 'succeeded',
        terminal: true,
        terminalAt: clock.now().toISOString(),
      });
      lock.release();
    },
    stop() {
      for (const { lock } of owned) lock.release();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export function newSchedule(project: string, id: string): NewSchedule {
  return {
    name: parseScheduleId(id),
    cron: '0 12 * * *',
    tz: 'UTC',
    catchUp: 'none',
    overlap: 'skip',
    domain: null,
    request: {
      graph: GRAPH,
      project: projectAt(project),
      cwd: project,
      below: { depth: 0, maxDepth: 2 },
      settings: {
        concurrency: LIMITS.concurrency,
        timeoutSeconds: LIMITS.runSeconds,
        terminalRetentionSeconds: LIMITS.retentionSeconds,
        retry: 'died',
        maxCost: null,
        maxTokens: null,
      },
    },
  };
}
