/** A run drawn once, or again at every change: on a terminal in place, elsewhere as a drawing, lines, and a drawing. */
import { jsonText } from '../../lib/json-text.ts';
import {
  factsOf,
  followEvents,
  type KnownRun,
  type OwnerClass,
  ownerClassOf,
  type RunDirectory,
  readEvents,
  readKnownRun,
} from '../../runs/index.ts';
import type { RunContext } from './context.ts';
import { drawRun, type Used } from './draw.ts';
import { runDetails } from './run-json.ts';
import { streamEvents, untilStopped } from './stream.ts';
import { usedBySteps } from './used.ts';

const CLEAR_SCREEN = '\u001b[H\u001b[2J';
const COLUMNS = 80;
/** So often the times on a terminal go on, while something runs. */
const TICK_MS = 1_000;
/** What happens at once is shown at once. */
const TOGETHER_MS = 100;

export interface Scene {
  readonly run: KnownRun;
  readonly ownerClass: OwnerClass;
  readonly used: ReadonlyMap<string, Used>;
  readonly now: Date;
}

/** @throws RunError as `readKnownRun` */
export async function sceneOf({ caller, deps }: RunContext, directory: RunDirectory): Promise<Scene> {
  const run = await readKnownRun(directory);
  const used = await usedBySteps(run);
  return { run, ownerClass: ownerClassOf(factsOf(run), caller), used, now: deps.clock.now() };
}

export function drawingOf(scene: Scene): string {
  const { isTTY, columns = COLUMNS } = process.stdout;
  const colours = isTTY && (process.env.NO_COLOR ?? '') === '';
  return drawRun({ ...scene, columns: isTTY ? columns : COLUMNS, colours });
}

/** Until the run has ended; it is given as it was then. */
export async function followed(
  context: RunContext,
  directory: RunDirectory,
  { json }: { json: boolean },
): Promise<KnownRun> {
  const signal = untilStopped();
  // Before it is looked at: what happens meanwhile is told twice, and not never.
  const after = await lastEvent(directory);
  const first = await sceneOf(context, directory);
  if (json) await eachChange(context, directory, signal, (scene) => printJson(context, scene));
  else if (process.stdout.isTTY) await eachChange(context, directory, signal, redraw, TICK_MS);
  else {
    process.stdout.write(drawingOf(first));
    if (!first.run.state.terminal) await streamEvents(context, directory, { after, signal });
  }
  const last = await sceneOf(context, directory);
  const isDrawn = json || (!process.stdout.isTTY && first.run.state.terminal);
  if (!isDrawn) process.stdout.write(`${process.stdout.isTTY ? CLEAR_SCREEN : ''}${drawingOf(last)}`);
  return last.run;
}

function printJson({ caller }: RunContext, { run, used }: Scene): void {
  process.stdout.write(`${jsonText({ ok: true, ...runDetails(run, caller, used) })}\n`);
}

/** What has no room is said to be there. */
function redraw(scene: Scene): void {
  const lines = drawingOf(scene).trimEnd().split('\n');
  const room = Math.max(1, (process.stdout.rows ?? lines.length + 1) - 1);
  const shown =
    lines.length <= room ? lines : [...lines.slice(0, room - 1), `… ${lines.length - room + 1} more`];
  process.stdout.write(`${CLEAR_SCREEN}${shown.join('\n')}\n`);
}

/** @param tickMs also so often, without a change */
async function eachChange(
  context: RunContext,
  directory: RunDirectory,
  signal: AbortSignal,
  show: (scene: Scene) => void,
  tickMs?: number,
): Promise<void> {
  const { place, deps } = context;
  const { clock } = deps;
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  let wake = Promise.withResolvers<void>();
  const watching = (async () => {
    try {
      for await (const _ of followEvents(place, directory, { clock, signal })) wake.resolve();
    } finally {
      over.abort();
      wake.resolve();
    }
  })();
  while (!either.aborted) {
    show(await sceneOf(context, directory));
    const limits: Promise<unknown>[] = [wake.promise];
    if (tickMs !== undefined) limits.push(clock.sleep(tickMs, either).catch(() => undefined));
    await Promise.race(limits);
    await clock.sleep(TOGETHER_MS, either).catch(() => undefined);
    wake = Promise.withResolvers<void>();
  }
  await watching;
  if (tickMs === undefined) show(await sceneOf(context, directory));
}

async function lastEvent(directory: RunDirectory): Promise<number> {
  let last = 0;
  for await (const line of readEvents(directory)) if (line.kind === 'event') last = line.event.seq;
  return last;
}
