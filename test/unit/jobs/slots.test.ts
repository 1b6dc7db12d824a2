import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mostRunning, type Slot, takeSlot } from '../../../src/jobs/slots.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { UsageError } from '../../../src/lib/errors.ts';
import { randomId } from '../../../src/lib/ids.ts';
import { temporaryDirectory } from '../lib/temporary.ts';

interface Waiting {
  slot: Promise<Slot>;
  positions: number[];
  abort(): void;
}

function take(directory: string, most: number): Waiting {
  const [positions, giveUp] = [[] as number[], new AbortController()];
  const slot = takeSlot(directory, {
    most,
    clock: systemClock,
    ids: () => randomId(4),
    onPosition: (position) => positions.push(position),
    signal: giveUp.signal,
  });
  slot.catch(() => {});
  return { slot, positions, abort: () => giveUp.abort(new Error('not any more')) };
}

const settled = async (waiting: Waiting): Promise<boolean> =>
  Promise.race([waiting.slot.then(() => true), sleep(100).then(() => false)]);

/** Another process that takes a slot and keeps it until it is killed. */
async function holder(directory: string, most: number) {
  const script = `
    const { takeSlot } = await import(${JSON.stringify(join(import.meta.dirname, '../../../src/jobs/slots.ts'))});
    const { systemClock: clock } = await import(${JSON.stringify(join(import.meta.dirname, '../../../src/lib/clock.ts'))});
    const options = { most: ${most}, clock, ids: () => String(process.pid), signal: new AbortController().signal };
    options.onPosition = () => console.log('waits');
    setInterval(() => {}, 1000);
    await takeSlot(${JSON.stringify(directory)}, options);
    console.log('has');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [chunk] = await once(child.stdout, 'data');
  return { child, first: String(chunk).trim() };
}

describe('slots (J8)', () => {
  it('J8: as many as there are are given at once, and the next waits for one to come back', async () => {
    const directory = join(temporaryDirectory(), 'slots');
    const first = await take(directory, 2).slot;
    const second = await take(directory, 2).slot;
    const three = take(directory, 2);
    expect(await settled(three)).toBe(false);
    expect(three.positions).toEqual([1]);
    first.release();
    (await three.slot).release();
    second.release();
    expect(readdirSync(join(directory, 'queue')).filter((name) => name.endsWith('.ticket'))).toEqual([]);
  });

  it('J8: those that wait come in the order in which they came, and see their place', async () => {
    const directory = join(temporaryDirectory(), 'slots');
    const running = await take(directory, 1).slot;
    const order: number[] = [];
    const all: Waiting[] = [];
    for (let number = 0; number < 5; number++) {
      const waiting = take(directory, 1);
      waiting.slot.then(
        async (slot) => {
          order.push(number);
          await sleep(20);
          slot.release();
        },
        () => {},
      );
      all.push(waiting);
      await sleep(20);
    }
    running.release();
    await Promise.all(all.map(({ slot }) => slot));
    expect(order).toEqual([0, 1, 2, 3, 4]);
    expect(all.at(-1)?.positions).toEqual([5, 4, 3, 2, 1]);
  });

  it('J8: one that gives up leaves the queue at once', async () => {
    const directory = join(temporaryDirectory(), 'slots');
    const running = await take(directory, 1).slot;
    const first = take(directory, 1);
    await sleep(50);
    const second = take(directory, 1);
    await sleep(50);
    first.abort();
    await expect(first.slot).rejects.toThrow('not any more');
    await expect.poll(() => second.positions.at(-1)).toBe(1);
    running.release();
    (await second.slot).release();
  });

  it('J8: the slot and the place of killed runners come free', async () => {
    const directory = join(temporaryDirectory(), 'slots');
    const running = await holder(directory, 1);
    const before = await holder(directory, 1);
    expect([running.first, before.first]).toEqual(['has', 'waits']);
    const waiting = take(directory, 1);
    await expect.poll(() => waiting.positions).toEqual([2]);
    before.child.kill('SIGKILL');
    await expect.poll(() => waiting.positions.at(-1), { timeout: 5_000 }).toBe(1);
    running.child.kill('SIGKILL');
    (await waiting.slot).release();
  });

  it('J8: a slot that another process gives back is heard of', async () => {
    const directory = join(temporaryDirectory(), 'slots');
    const running = await take(directory, 1).slot;
    const other = await holder(directory, 1);
    expect(other.first).toBe('waits');
    running.release();
    const [chunk] = await once(other.child.stdout, 'data');
    expect(String(chunk).trim()).toBe('has');
  });

  it('J8: what else lies in the queue is nobody', async () => {
    const directory = join(temporaryDirectory(), 'slots');
    mkdirSync(join(directory, 'queue'), { recursive: true });
    writeFileSync(join(directory, 'queue/notes.txt'), '');
    writeFileSync(join(directory, 'queue/000000000000001-ab.ticket'), '');
    const slot = await take(directory, 1).slot;
    slot.release();
    expect(readdirSync(join(directory, 'queue')).sort()).toEqual(['bell', 'notes.txt']);
  });

  it.each(['0', '-1', '1.5', 'many', '100000'])('J8: MULTI_AGENT_MAX_RUNNING=%s is refused', (text) => {
    expect(() => mostRunning({ MULTI_AGENT_MAX_RUNNING: text })).toThrow(UsageError);
  });

  it('rule 8: what has a ticket’s name and is none holds nobody up', async () => {
    const directory = join(temporaryDirectory(), 'slots');
    mkdirSync(join(directory, 'queue/000000000000001-a.ticket'), { recursive: true });
    symlinkSync('/dev/null', join(directory, 'queue/000000000000002-b.ticket'));
    const first = await take(directory, 1).slot;
    const second = take(directory, 1);
    expect(await settled(second)).toBe(false);
    expect(second.positions).toEqual([1]);
    first.release();
    (await second.slot).release();
  });

  it('J8: there are 8 where nothing is said', () => {
    expect([mostRunning({}), mostRunning({ MULTI_AGENT_MAX_RUNNING: '24' })]).toEqual([8, 24]);
  });
});
