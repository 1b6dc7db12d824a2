import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  askJob,
  type JobDirectory,
  JobNotRunningError,
  JobSilentError,
  type JobsPlace,
  socketDirectory,
  waitForJobs,
  withSocketPath,
} from '../../../../src/jobs/index.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { commit, jobScene } from './scene.ts';

/** Listens as a runner does: every request is answered with `answer`, and the connection stays open. */
async function listener(place: JobsPlace, job: JobDirectory, answer: string) {
  mkdirSync(socketDirectory(place), { recursive: true });
  const requests: unknown[] = [];
  const open = new Set<import('node:net').Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      requests.push(JSON.parse(String(data)));
      socket.write(answer);
    });
  });
  withSocketPath(place, job, (path) => server.listen(path));
  await once(server, 'listening');
  const stop = (): void => {
    for (const socket of open) socket.destroy();
    server.close();
  };
  onTestFinished(stop);
  return { requests, stop };
}

describe('waiting', () => {
  it('J6: the end of a run is seen when its runner lets go of the connection', async () => {
    const { start, place } = jobScene();
    const held = await start('build');
    const { stop, requests } = await listener(place, held.directory, '{"ok":true}\n');
    const waiting = waitForJobs(place, [held.directory], { clock: systemClock, timeoutMs: 10_000 });
    await expect.poll(() => requests).toEqual([{ version: 1, op: 'watch' }]);
    commit(held.directory, 1);
    held.lock.release();
    stop();
    expect(await waiting).toMatchObject({ timedOut: false, running: [], ended: [{ status: 'failed' }] });
  });

  it('J6: a job is waited for before its runner listens, and one whose runner dies before it ever does', async () => {
    const { start, place } = jobScene();
    const [late, dead] = [await start('late'), await start('dead')];
    const waiting = waitForJobs(place, [late.directory, dead.directory], {
      clock: systemClock,
      timeoutMs: 10_000,
    });
    await sleep(50);
    dead.lock.release();
    const { stop, requests } = await listener(place, late.directory, '{"ok":true}\n');
    await expect.poll(() => requests.length).toBe(1);
    commit(late.directory, 0);
    late.lock.release();
    stop();
    const { ended } = await waiting;
    expect(ended.map(({ status }) => status)).toEqual(['done', 'died']);
  });

  it('J6: of no jobs none is waited for, and a wait that was given up before it began ends at once', async () => {
    const { start, place } = jobScene();
    expect(await waitForJobs(place, [], { clock: systemClock, any: true, timeoutMs: 60_000 })).toEqual({
      ended: [],
      running: [],
      timedOut: false,
    });
    const { directory } = await start('live');
    const signal = AbortSignal.abort(new Error('given up'));
    await expect(waitForJobs(place, [directory], { clock: systemClock, signal })).rejects.toThrow('given up');
  });

  it('J6: --any ends with the first one, and a timeout changes nothing', async () => {
    const { start, ended, place } = jobScene();
    const [live, done] = [await start('live'), await ended('done')];
    const both = [live.directory, done];
    expect(await waitForJobs(place, both, { clock: systemClock, any: true })).toMatchObject({
      ended: [{ status: 'done' }],
      running: [{ status: 'starting' }],
      timedOut: false,
    });
    expect(await waitForJobs(place, both, { clock: systemClock, timeoutMs: 100 })).toMatchObject({
      running: [{ status: 'starting' }],
      timedOut: true,
    });
  });
});

describe('asking a job', () => {
  it('J9: a dead job is never spoken to, even where something listens in its place', async () => {
    const { start, place } = jobScene();
    const held = await start('build');
    held.lock.release();
    const { requests } = await listener(place, held.directory, '{"ok":true}\n');
    await expect(askJob(place, held.directory, { op: 'kill' })).rejects.toThrow(JobNotRunningError);
    expect(requests).toEqual([]);
  });

  it('J9: an answer comes back as it is, and garbage is named', async () => {
    const { start, place } = jobScene();
    const [good, bad] = [await start('good'), await start('bad')];
    await listener(place, good.directory, '{"ok":true,"receipt":"queued"}\n');
    expect(await askJob(place, good.directory, { op: 'steer', text: 'left' })).toEqual({
      ok: true,
      receipt: 'queued',
    });
    await listener(place, bad.directory, '\u0000garbage\n');
    await expect(askJob(place, bad.directory, { op: 'state' })).rejects.toThrow(JobSilentError);
  });

  it('rule 7: a runner that says nothing is given up on', async () => {
    const { start, place } = jobScene();
    const held = await start('build');
    await listener(place, held.directory, '');
    await expect(askJob(place, held.directory, { op: 'state' }, { timeoutMs: 200 })).rejects.toThrow(
      /has not answered within 0\.2 s/,
    );
  });
});
