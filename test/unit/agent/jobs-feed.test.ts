/** What `/jobs` shows of jobs, as it changes (J12). */
import { describe, expect, it, onTestFinished } from 'vitest';
import { openFeed } from '../../../src/agent/extensions/jobs/feed.ts';
import { listJobs, removeJob, removing, reopenJob } from '../../../src/jobs/index.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { commit, jobScene } from '../jobs/store/scene.ts';

describe('/jobs', () => {
  it('J12: shows the next run of a job, a new job, and none that was removed', async () => {
    const { ended, start, place, project, reopenDeps: deps } = jobScene();
    const [again, gone] = [await ended('again'), await ended('gone')];
    const caller = { project, parent: undefined, session: null };
    const here = { env: {}, place, project, caller, directory: project.directory, deps };
    const feed = await openFeed(here, systemClock, () => undefined);
    onTestFinished(() => feed.close());
    const shown = (): string[] => feed.jobs().map(({ name, status }) => `${name} ${status}`);
    expect(shown().sort()).toEqual(['again done', 'gone done']);
    const held = await reopenJob(place, again, 'go on', deps);
    await expect.poll(shown, { timeout: 5_000 }).toContain('again starting');
    const { jobs } = await listJobs(place, project);
    await removing(place, deps, () => removeJob(place, gone, 'asked', { ...deps, jobs }));
    await expect.poll(shown, { timeout: 5_000 }).toEqual(['again starting']);
    await start('new');
    await expect.poll(shown, { timeout: 5_000 }).toContain('new starting');
    commit(again, 1);
    held.lock.release();
    await expect.poll(shown, { timeout: 5_000 }).toContain('again failed');
  });
});
