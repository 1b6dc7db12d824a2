/** What jobs have used, as it is reported to the Session that started them (J12). */
import { rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { nestedUsage } from '../../../src/agent/extensions/jobs/nested-usage.ts';
import { recallTold } from '../../../src/agent/extensions/jobs/told.ts';
import { jobFile, readJob } from '../../../src/jobs/index.ts';
import { jobScene } from '../jobs/store/scene.ts';

describe('the usage of jobs', () => {
  it('J12: counts for the Session once, and all of it for another job of the same name', async () => {
    const { ended, place, project, reopenDeps } = jobScene();
    const here = {
      env: {},
      place,
      project,
      caller: { project, parent: undefined, session: 'mine' },
      directory: project.directory,
      deps: reopenDeps,
    };
    const told = recallTold([]);
    const reported = async (cost: number) => {
      const directory = await ended('build', { settings: { startedBySession: 'mine' } });
      const tokens = { input: 10, output: 0, cacheRead: 0, cacheWrite: 0, total: 10 };
      writeFileSync(jobFile(directory, 'usage.json'), JSON.stringify({ version: 1, tokens, cost }));
      const job = await readJob(directory);
      const { usage } = await nestedUsage(here, told, [job]);
      expect((await nestedUsage(here, told, [job])).usage).toBeUndefined();
      rmSync(directory, { recursive: true });
      return usage?.cost.total;
    };
    expect(await reported(2)).toBe(2);
    await sleep(2);
    expect(await reported(1)).toBe(1);
  });
});
