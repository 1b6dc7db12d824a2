/** A run as text: its head, and its graph, a line a step. Pure: all facts are handed in. */
import { safeForTerminal } from '../../lib/redact.ts';
import { duration } from '../../lib/table.ts';
import {
  dependenciesOf,
  isFinalStep,
  type KnownRun,
  type OwnerClass,
  type StepStatus,
} from '../../runs/index.ts';
import { laneRows, NODE } from './graph-lanes.ts';

/** What a step has used: of one that runs as its job says. */
export interface Used {
  readonly tokens: number;
  readonly cost: number;
  /** It runs, and its job still waits for a slot or is just starting (R3, J8). */
  readonly queued?: boolean;
}

export interface DrawFacts {
  readonly run: KnownRun;
  readonly ownerClass: OwnerClass;
  readonly used: ReadonlyMap<string, Used>;
  readonly now: Date;
  /** Columns that a line may take. */
  readonly columns: number;
  readonly colours: boolean;
}

const MARKS: Readonly<Record<StepStatus, string>> = {
  pending: '○',
  running: '●',
  succeeded: '✓',
  failed: '✗',
  blocked: '⊘',
  'timed-out': '✗',
  canceled: '–',
};

/** SGR numbers: grey, cyan, green, red, yellow. */
const COLOURS: Readonly<Record<StepStatus, number>> = {
  pending: 90,
  running: 36,
  succeeded: 32,
  failed: 31,
  blocked: 33,
  'timed-out': 31,
  canceled: 33,
};

/** Of one whose job has not begun (R3). */
const QUEUED = { mark: '◌', colour: 90 } as const;

const MOST_NAME = 24;

export function drawRun(facts: DrawFacts): string {
  return [...head(facts), '', ...graph(facts)].map((line) => `${line}\n`).join('');
}

function head({ run, ownerClass, used, now, columns }: DrawFacts): string[] {
  const { id, manifest, state } = run;
  const all = Object.values(state.steps);
  const done = all.filter(({ status }) => isFinalStep(status)).length;
  const took = between(manifest.createdAt, state.terminalAt, now);
  const sum = [...used.values()].reduce(
    (total, each) => ({ tokens: total.tokens + each.tokens, cost: total.cost + each.cost }),
    { tokens: 0, cost: 0 },
  );
  const facts = [
    `${done} of ${all.length} steps`,
    took === undefined ? '' : duration(took),
    sum.tokens === 0 ? '' : `${short(sum.tokens)} tokens`,
    sum.cost === 0 ? '' : money(sum.cost),
  ].filter((fact) => fact !== '');
  return [
    `${id}  ${state.status}  ${ownerClass}`,
    cut(safeForTerminal(manifest.objective), columns),
    facts.join(', '),
    ...(state.reason === null ? [] : [cut(safeForTerminal(state.reason), columns)]),
  ];
}

function graph(facts: DrawFacts): string[] {
  const { columns, colours } = facts;
  const { steps } = facts.run.manifest.graph;
  const rows = laneRows(steps.map((step) => ({ id: step.id, waitsFor: dependenciesOf(step) })));
  const laneWidth = Math.max(...rows.map(({ lanes }) => lanes.length));
  const cells = new Map<string, string[]>(steps.map(({ id }) => [id, cellsOf(facts, id)]));
  const widths = CELLS.map((_, index) =>
    Math.max(...[...cells.values()].map((row) => row[index]?.length ?? 0)),
  );
  return rows.map(({ id, lanes }) => {
    const status = id === undefined ? undefined : facts.run.state.steps[id]?.status;
    if (id === undefined || status === undefined) return lanes;
    const text = aligned(cells.get(id) ?? [], widths);
    const room = columns - laneWidth - text.length - 4;
    const note = cut(safeForTerminal(noteOf(facts.run, id)), room);
    const isQueued = facts.used.get(id)?.queued === true;
    const mark = isQueued
      ? paint(QUEUED.mark, QUEUED.colour, colours)
      : paint(MARKS[status], COLOURS[status], colours);
    return `${lanes.padEnd(laneWidth).replace(NODE, mark)}  ${text}  ${note}`.trimEnd();
  });
}

/** Words stand to the left, numbers to the right. */
const CELLS = ['name', 'status', 'time', 'tokens', 'cost'] as const;
const WORDS = 2;

function cellsOf({ run, used, now }: DrawFacts, id: string): string[] {
  const { status = '', startedAt = null, endedAt = null } = run.state.steps[id] ?? {};
  const { tokens, cost, queued = false }: Used = used.get(id) ?? { tokens: 0, cost: 0 };
  const took = startedAt === null ? undefined : between(startedAt, endedAt ?? run.state.terminalAt, now);
  return [
    cut(id, MOST_NAME),
    queued ? 'queued' : status,
    took === undefined ? '' : clock(took),
    tokens === 0 ? '' : short(tokens),
    cost === 0 ? '' : money(cost),
  ];
}

/** What nobody has takes no room. */
function aligned(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((cell, index) =>
      index < WORDS ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0),
    )
    .filter((_, index) => (widths[index] ?? 0) > 0)
    .join('  ');
}

/** What it waits for, or why it did not succeed. */
function noteOf({ manifest, state }: KnownRun, id: string): string {
  const own = state.steps[id];
  const step = manifest.graph.steps.find((one) => one.id === id);
  if (own === undefined || step === undefined) return '';
  if (own.status !== 'pending') return own.status === 'succeeded' ? '' : (own.reason ?? '');
  const open = dependenciesOf(step).filter((other) => {
    const status = state.steps[other]?.status;
    return status !== undefined && !isFinalStep(status);
  });
  return open.length === 0 ? '' : `waits for ${open.join(', ')}`;
}

function between(from: string, to: string | null, now: Date): number | undefined {
  const took = (to === null ? now.getTime() : Date.parse(to)) - Date.parse(from);
  return Number.isNaN(took) ? undefined : Math.max(0, took);
}

/** `42s`, `3m 05s`, `2h 40m`. */
function clock(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1_000);
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3_600)];
  if (hours > 0) return `${hours}h ${String(minutes % 60).padStart(2, '0')}m`;
  return minutes > 0 ? `${minutes}m ${String(seconds % 60).padStart(2, '0')}s` : `${seconds}s`;
}

/** `950`, `12.3k`, `4.5M`. */
function short(count: number): string {
  if (count < 1_000) return String(count);
  return count < 1_000_000 ? `${(count / 1_000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

function money(dollars: number): string {
  return dollars < 1 ? `$${dollars.toFixed(3)}` : `$${dollars.toFixed(2)}`;
}

function cut(text: string, columns: number): string {
  if (columns <= 0) return '';
  return text.length <= columns ? text : `${text.slice(0, columns - 1)}…`;
}

function paint(text: string, colour: number, colours: boolean): string {
  return colours ? `\u001b[${colour}m${text}\u001b[0m` : text;
}
