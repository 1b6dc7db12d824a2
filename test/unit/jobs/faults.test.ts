import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { JOB_FAULTS } from '../../faults/cases/jobs.ts';
import { watch } from '../../faults/jobs/aftermath.ts';
import { type JobScene, makeJobScene, OLD } from '../../faults/jobs/scene.ts';
import { type Findings, JOB_INSPECTION, type JobsWorld, openJobsWorld } from '../../faults/jobs/world.ts';
import { runCase } from '../../faults/run-case.ts';

/** Fixed, so that a failure here is the same one everywhere; `npm run faults` takes others. */
const SEED = 'ci';

let world: JobsWorld;
beforeAll(() => {
  world = openJobsWorld();
});
afterAll(() => world.close());

describe('J11: the checker of jobs', () => {
  const deeds: [keyof Findings, string, (scene: JobScene) => void][] = [
    ['lost', 'a conversation', ({ conversations }) => writeFileSync(join(conversations, 'old.jsonl'), '')],
    ['untrue', 'a result', ({ jobs }) => writeFileSync(join(jobs, OLD.name, 'output.txt'), 'another')],
    ['left over', 'half a file', ({ jobs }) => writeFileSync(join(jobs, OLD.name, '.pi-sandbox-tmp-1'), '')],
    ['left over', 'half a job', ({ jobs }) => mkdirSync(join(jobs, `.new-${'a'.repeat(32)}`))],
    ['left over', 'a conversation', ({ jobs }) => rmSync(join(jobs, OLD.name), { recursive: true })],
    ['outside', 'what is not of jobs', ({ outside }) => appendFileSync(join(outside, 'kept'), 'y')],
    ['outside', 'a process of others', ({ bystanders }) => void bystanders[0]?.kill('SIGKILL')],
    [
      'sockets',
      'a socket',
      ({ sockets }) => {
        mkdirSync(sockets, { recursive: true });
        writeFileSync(join(sockets, '0.sock'), '');
      },
    ],
    [
      'processes',
      'a process of a job',
      ({ jobs }) => {
        const env = { PATH: process.env.PATH, XDG_STATE_HOME: dirname(dirname(dirname(jobs))) };
        const { pid = 0 } = spawn('sleep', ['60'], { env, stdio: 'ignore' });
        world.atEnd(() => void process.kill(pid, 'SIGKILL'));
      },
    ],
  ];
  it.each(deeds)('J11: sees what is %s: %s', async (kind, _what, deed) => {
    const fault = {
      name: 'deed',
      about: '',
      tries: { usual: 1, few: 1 },
      async attempt() {
        const scene = makeJobScene(world);
        watch(world, scene);
        deed(scene);
        await new Promise((resolve) => setTimeout(resolve, 50));
      },
    };
    const options = { seed: SEED, from: 0, count: 1, crowd: 1 };
    const { lost, leaked } = await runCase(world, JOB_INSPECTION, fault, options);
    expect(kind === 'lost' ? lost : leaked[kind]).toBeGreaterThan(0);
  });
});

describe('J11: jobs under faults (docs/faults.md; many more: npm run faults)', () => {
  for (const fault of JOB_FAULTS) {
    it(`J11: ${fault.name}: ${fault.about}`, { timeout: 180_000 }, async () => {
      const options = { seed: SEED, from: 0, count: fault.tries.few, crowd: 5 };
      const { failures, survived } = await runCase(world, JOB_INSPECTION, fault, options);
      expect(failures).toEqual([]);
      expect(survived).toBe(fault.tries.few);
    });
  }
});
