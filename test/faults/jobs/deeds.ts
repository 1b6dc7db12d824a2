/** What is done to jobs while a fault comes. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../random.ts';
import type { Watched } from './aftermath.ts';
import { saysInWords } from './aftermath.ts';
import { type Called, type Fault, type JobScene, OLD } from './scene.ts';

/** What is done while the fault comes; how it ends, and which job was asked what when it says that it worked. */
export interface Deed {
  readonly name: string;
  readonly programs: readonly [Fault['program'], ...Fault['program'][]];
  /** `fault` is for the last command. */
  act(scene: JobScene, prompt: string, fault?: Fault): Promise<Called>;
  readonly asks?: string;
}

const BOTH = ['multi-agent', 'multi-agent-runner'] as const;

/** What starts or steers a run. */
export const RUNS: readonly [Deed, ...Deed[]] = [
  {
    name: 'start',
    programs: BOTH,
    act: (scene, prompt, fault) => scene.call(['start', '--name', 'new', prompt], fault),
    asks: 'new',
  },
  {
    name: 'run',
    programs: ['multi-agent'],
    act: (scene, prompt, fault) => scene.call(['run', '--name', 'new', prompt], fault),
    asks: 'new',
  },
  {
    name: 'resume',
    programs: BOTH,
    act: (scene, prompt, fault) => scene.call(['resume', OLD.name, prompt], fault),
    asks: OLD.name,
  },
  {
    name: 'abort',
    programs: ['multi-agent-runner'],
    async act(scene, prompt, fault) {
      const started = await scene.call(['start', '--name', 'new', `${prompt} long`], fault);
      await sleep(150);
      return started.code === 0 ? scene.call(['abort', 'new']) : started;
    },
  },
];

/** And what takes jobs away. */
export const DEEDS: readonly [Deed, ...Deed[]] = [
  ...RUNS,
  {
    name: 'rm',
    programs: ['multi-agent'],
    act: (scene, _prompt, fault) => scene.call(['rm', OLD.name], fault),
  },
  {
    name: 'prune',
    programs: ['multi-agent'],
    act: (scene, _prompt, fault) => scene.call(['prune'], fault),
  },
];

export function promptOf(random: Random): string {
  const tool = random.below(2) === 0 ? ' tool' : '';
  const stubborn = random.below(8) === 0 ? ' stubborn' : '';
  return `p${random.below(1e6)} ${random.below(300)}${tool}${stubborn}`;
}

/** Does it, and remembers what must be true of it now. */
export async function doDeed(
  scene: JobScene,
  deed: Deed,
  prompt: string,
  { taken }: Watched,
  fault?: Fault,
): Promise<Called> {
  const called = await deed.act(scene, prompt, fault);
  if (called.signal !== 'SIGKILL') saysInWords(called, deed.name);
  if (called.code === 0 && deed.asks !== undefined) taken.push({ job: deed.asks, prompt });
  return called;
}
