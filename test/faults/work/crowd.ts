/**
 * Processes that acquire, renew, release and prune at random in one work root, some killed. Each watches by plain files
 * that nothing it holds goes away. Arguments: `drive <root> <journal> <seed> <processes> <milliseconds>`, or `finish
 * <root>` for the last prune, or `work …`, which a driver calls.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  acquireRun,
  pruneAll,
  pruneTenant,
  retentionOf,
  WorkBusyError,
  type WorkRun,
  workSegment,
} from '../../../src/work/index.ts';
import { type Random, randomOf } from '../random.ts';

/** What the last prune, too, holds every tenant to. */
const RETENTION = retentionOf({ maxRuns: 3, maxBytes: 256 * 1024 });
const CATEGORY = 'crowd';
const TENANTS = ['a', 'b', 'c'] as const;
const NAMES = ['x', 'y', 'z'] as const;
const MOST_HELD = 4;

interface Held {
  readonly run: WorkRun;
  readonly token: string;
}

/** One process of the crowd. */
async function work(root: string, journal: string, seed: string, until: number): Promise<void> {
  const random = randomOf(seed);
  const note = (line: object): void => appendFileSync(journal, `${JSON.stringify(line)}\n`);
  const held: Held[] = [];
  let tokens = 0;
  const watch = (when: string): void => {
    for (const { token, run } of held) if (!existsSync(token)) note({ violation: `${run.path} ${when}` });
  };
  const steps: [() => Promise<unknown>, ...(() => Promise<unknown>)[]] = [
    async () => {
      if (held.length >= MOST_HELD) return;
      const runId = random.below(2) === 0 ? random.pick(NAMES) : undefined;
      const run = await acquireRun(root, { category: CATEGORY, tenant: random.pick(TENANTS), runId });
      const token = join(run.path, `held-${process.pid}-${hostname()}-${tokens++}`);
      writeFileSync(token, Buffer.alloc(random.below(64 * 1024)));
      note({ acquired: run.path });
      held.push({ run, token });
    },
    async () => held[random.below(Math.max(1, held.length))]?.run.touch(),
    async () => {
      const [one] = held.splice(random.below(Math.max(1, held.length)), 1);
      await one?.run.release({ delete: random.below(4) === 0 });
    },
    () => prune(root, random),
    () => sleep(random.below(10)),
  ];
  while (Date.now() < until) {
    watch('before');
    try {
      await random.pick(steps)();
    } catch (error) {
      // So many at one root that a prune does not get its turn in half a minute: others do its work.
      if (error instanceof WorkBusyError && error.path === root) note({ busy: error.message });
      else note({ error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) });
    }
    watch('after');
  }
  // Some leave everything to the kernel.
  if (random.below(2) === 0) for (const { run } of held) await run.release();
}

async function prune(root: string, random: Random): Promise<void> {
  if (random.below(4) === 0) await pruneAll(root, RETENTION);
  else
    await pruneTenant(
      root,
      { category: workSegment('c', CATEGORY), tenant: workSegment('t', random.pick(TENANTS)) },
      RETENTION,
    );
}

/** Keeps so many at it, kills one now and then, and some in the end. */
async function drive(
  root: string,
  journals: string,
  seed: string,
  processes: number,
  milliseconds: number,
): Promise<void> {
  const random = randomOf(seed, 'driver');
  const until = Date.now() + milliseconds;
  const crowd = new Map<number, ChildProcess>();
  const ended: Promise<unknown>[] = [];
  mkdirSync(journals, { recursive: true });
  let count = 0;
  const start = (place: number): void => {
    const journal = join(journals, `${hostname()}-${count}.jsonl`);
    const words = ['work', root, journal, `${seed}-${count++}`, String(until)];
    const child = spawn(process.execPath, [process.argv[1] ?? '', ...words], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    crowd.set(place, child);
    ended.push(new Promise((resolve) => child.once('close', resolve)));
  };
  for (let place = 0; place < processes; place++) start(place);
  while (Date.now() < until) {
    // In a crowd of any size each lives for some seconds.
    await sleep((2_000 + random.below(20_000)) / processes);
    const place = random.below(processes);
    crowd.get(place)?.kill('SIGKILL');
    start(place);
  }
  for (const child of crowd.values()) if (random.below(3) === 0) child.kill('SIGKILL');
  await Promise.all(ended);
}

const [, , role = '', root = '', second = '', seed = '', fourth = '', fifth = ''] = process.argv;
if (role === 'drive') await drive(root, second, seed, Number(fourth), Number(fifth));
else if (role === 'work') await work(root, second, seed, Number(fourth));
else if (role === 'finish') {
  const { problems, cut } = await pruneAll(root, RETENTION);
  process.stdout.write(`${JSON.stringify({ problems: problems.items, cut })}\n`);
} else throw new Error(`unknown role ${role}`);
