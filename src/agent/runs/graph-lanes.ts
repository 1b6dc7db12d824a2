/** A graph as lanes beside its steps, as `git log --graph` draws a history: what a step waits for stands above it. Pure. */

export interface LaneStep {
  readonly id: string;
  /** `needs` and `after`. */
  readonly waitsFor: readonly string[];
}

export interface LaneRow {
  /** Undefined: a row that only joins lanes. */
  readonly id: string | undefined;
  /** As wide as the lanes of this row; {@link NODE} stands for the step. */
  readonly lanes: string;
}

/** Where a step's mark goes. */
export const NODE = '*';
/** A wider graph is a plain list: nobody could follow its lines. */
const MOST_LANES = 12;

/** Every step once, those that it waits for before it, otherwise in the order given. */
export function inOrder(steps: readonly LaneStep[]): LaneStep[] {
  const left = new Map(steps.map((step) => [step.id, step]));
  const order: LaneStep[] = [];
  for (let before = -1; before !== order.length; ) {
    before = order.length;
    for (const step of [...left.values()]) {
      if (step.waitsFor.some((id) => left.has(id))) continue;
      order.push(step);
      left.delete(step.id);
    }
  }
  // A circle has no order; a graph that was started has none.
  return [...order, ...left.values()];
}

export function laneRows(steps: readonly LaneStep[]): LaneRow[] {
  const order = inOrder(steps);
  const next = dependents(order);
  /** Of each column the step that its line leads to. */
  const lanes: (string | undefined)[] = [];
  const rows: LaneRow[] = [];
  for (const { id } of order) {
    const column = placeOf(lanes, id);
    lanes[column] = id;
    rows.push({ id, lanes: nodeRow(lanes, column) });
    const before = new Set(lanes.flatMap((lane, index) => (lane === undefined ? [] : [index])));
    lanes[column] = undefined;
    const targets = (next.get(id) ?? []).map((to) => leadTo(lanes, to, column));
    if (lanes.length > MOST_LANES) return order.map((step) => ({ id: step.id, lanes: NODE }));
    if (targets.some((target) => target !== column))
      rows.push({ id: undefined, lanes: joinRow(lanes, before, column, targets) });
    while (lanes.length > 0 && lanes.at(-1) === undefined) lanes.pop();
  }
  return rows;
}

function dependents(order: readonly LaneStep[]): Map<string, string[]> {
  const next = new Map<string, string[]>();
  for (const { id, waitsFor } of order) {
    for (const other of waitsFor) next.set(other, [...(next.get(other) ?? []), id]);
  }
  return next;
}

/** The column whose line leads to it, else a free one. */
function placeOf(lanes: readonly (string | undefined)[], id: string): number {
  const there = lanes.indexOf(id);
  if (there >= 0) return there;
  const free = lanes.indexOf(undefined);
  return free >= 0 ? free : lanes.length;
}

/** Lines that lead to one step are one line; the first that begins goes straight down. */
function leadTo(lanes: (string | undefined)[], to: string, column: number): number {
  const there = lanes.indexOf(to);
  if (there >= 0) return there;
  const free = lanes[column] === undefined ? column : placeOf(lanes, to);
  lanes[free] = to;
  return free;
}

function nodeRow(lanes: readonly (string | undefined)[], column: number): string {
  const cells = Array.from(lanes, (lane, index) =>
    index === column ? NODE : lane === undefined ? ' ' : '│',
  );
  return cells.join(' ').trimEnd();
}

function joinRow(
  lanes: readonly (string | undefined)[],
  before: ReadonlySet<number>,
  column: number,
  targets: readonly number[],
): string {
  const ends = new Set([column, ...targets]);
  const [from, to] = [Math.min(...ends), Math.max(...ends)];
  let text = '';
  for (let index = 0; index < lanes.length; index++) {
    const isInside = index >= from && index <= to;
    const up = before.has(index);
    const down = lanes[index] !== undefined;
    text +=
      isInside && ends.has(index)
        ? corner({ up, down, left: index > from, right: index < to })
        : plain(isInside, down);
    if (index < lanes.length - 1) text += index >= from && index < to ? '─' : ' ';
  }
  return text.trimEnd();
}

function plain(isInside: boolean, down: boolean): string {
  if (isInside) return down ? '┼' : '─';
  return down ? '│' : ' ';
}

const CORNERS: Readonly<Record<string, string>> = {
  'up down left right': '┼',
  'up down right': '├',
  'up down left': '┤',
  'up left right': '┴',
  'up right': '╰',
  'up left': '╯',
  'down left right': '┬',
  'down right': '╭',
  'down left': '╮',
};

function corner(sides: Readonly<Record<'up' | 'down' | 'left' | 'right', boolean>>): string {
  const key = (['up', 'down', 'left', 'right'] as const).filter((side) => sides[side]).join(' ');
  return CORNERS[key] ?? '─';
}
