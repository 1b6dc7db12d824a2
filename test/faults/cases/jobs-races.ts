import { setTimeout as sleep } from 'node:timers/promises';
import { expectThat } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import { saysInWords, watch } from '../jobs/aftermath.ts';
import { type Called, makeJobScene, OLD } from '../jobs/scene.ts';
import type { JobsWorld } from '../jobs/world.ts';
import type { Random } from '../random.ts';

/** A name that several starts ask for. */
const SAME = 'same';
const LONGEST_MS = 400;

interface Racer {
  readonly words: readonly string[];
  readonly prompt: string;
  /** It has waited for the end of its own run. */
  readonly waits?: boolean;
}

function racer(random: Random, number: number): Racer {
  const prompt = `r${number} ${random.below(200)}${random.below(3) === 0 ? ' tool' : ''}`;
  const job = random.pick([OLD.name, SAME]);
  const racers: readonly [() => Racer, ...(() => Racer)[]] = [
    () => ({ words: ['start', '--name', SAME, prompt], prompt }),
    () => ({ words: ['start', '--name', SAME, prompt], prompt }),
    () => ({ words: ['start', prompt], prompt }),
    () => ({ words: ['resume', OLD.name, prompt, '--wait'], prompt, waits: true }),
    () => ({ words: ['resume', OLD.name, prompt, '--wait'], prompt, waits: true }),
    () => ({ words: ['resume', SAME, prompt], prompt }),
    () => ({ words: ['abort', job], prompt }),
    () => ({ words: ['kill', job], prompt }),
    () => ({ words: ['wait', job, '--timeout', '2s'], prompt }),
    () => ({ words: ['list', '--json'], prompt }),
    () => ({ words: ['rm', SAME], prompt }),
    () => ({ words: ['prune'], prompt }),
  ];
  return random.pick(racers)();
}

export const jobRaces: FaultCase<JobsWorld> = {
  name: 'job-races',
  about:
    'starts, resumes, aborts, kills, removals and listings at once, some killed: one start of a name wins, each run asks once',
  tries: { usual: 40, few: 1 },
  async attempt(world, random, note, { crowd }) {
    const scene = makeJobScene(world);
    const watched = watch(world, scene);
    const racers = Array.from({ length: crowd }, (_, number) => ({
      ...racer(random, number),
      after: random.below(LONGEST_MS),
      killedAfter: random.below(6) === 0 ? random.below(LONGEST_MS) : undefined,
    }));
    note(racers.map(({ words, after }) => `${after}: ${words.slice(0, 3).join(' ')}`).join(', '));
    const called = await Promise.all(
      racers.map(async ({ words, after, killedAfter }) => {
        await sleep(after);
        const { process, ended } = scene.start(words);
        if (killedAfter !== undefined) setTimeout(() => process.kill('SIGKILL'), killedAfter);
        return ended;
      }),
    );
    for (const [number, { words, prompt, waits }] of racers.entries()) {
      const end = called[number];
      if (end === undefined || end.signal === 'SIGKILL') continue;
      saysInWords(end, words.join(' '));
      if (words[0] === 'list') expectThat(end.code === 0, `list ended with ${end.code}: ${end.stderr}`);
      if (waits && end.code === 0) watched.promised.push({ job: OLD.name, prompt });
    }
    oneWins(racers, called);
    await watched.finish();
  },
};

function oneWins(racers: readonly Racer[], called: readonly Called[]): void {
  const of = (verb: string) =>
    racers.flatMap(({ words }, number) => {
      const end = called[number];
      return words[0] === verb && words.includes(SAME) && end ? [end] : [];
    });
  const [starts, removals] = [of('start'), of('rm')];
  const winners = starts.filter(({ code }) => code === 0).length;
  const removed = removals.filter(({ code, signal }) => code === 0 || signal !== null).length;
  expectThat(winners <= 1 + removed, `${winners} starts of one name say that they have it`);
  const anyKilled = starts.some(({ signal }) => signal !== null);
  if (starts.length > 0 && !anyKilled) expectThat(winners > 0, 'no start of a free name has it');
}
