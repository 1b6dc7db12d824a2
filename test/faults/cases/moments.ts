import { setTimeout as sleep } from 'node:timers/promises';
import type { Moment } from '../engine-events.ts';
import type { Random } from '../random.ts';
import type { World } from '../world.ts';

const MOMENTS: readonly [Moment, ...Moment[]] = [
  'volume create',
  'network create',
  'container create',
  'container create',
  'container attach',
  'network connect',
  'container start',
  'container exec_create',
];
/** So long after a step of the engine's the command is in the next one. */
const AFTER_MS = 25;
/** A moment that never comes, such as a volume's making when all are there, is waited for so long. */
const LONGEST_MS = 1_500;

/**
 * Waits for a random point of a start that has just begun: half of them anywhere in `spanMs`, half of them right after
 * a step that the engine tells of, where two things hang together that chance would seldom part.
 */
export async function somePoint(
  world: World,
  random: Random,
  spanMs: number,
  note: (text: string) => void,
): Promise<void> {
  if (random.below(2) === 0) {
    const wait = Math.round(random.fraction() * spanMs);
    note(`${wait} ms after its start`);
    return void (await sleep(wait));
  }
  const moment = random.pick(MOMENTS);
  const wait = random.below(AFTER_MS);
  note(`${wait} ms after ${moment}`);
  await world.events.next(moment, LONGEST_MS);
  await sleep(wait);
}
