import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { projectAt } from '../../../src/jobs/index.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { isHeld } from '../../../src/lib/kernel-lock.ts';
import {
  checkGraph,
  createRun,
  isRunId,
  LIMITS,
  type RunDeps,
  type RunsPlace,
  readManifest,
  readState,
  runLock,
  runsPlace,
  type StartRequest,
} from '../../../src/runs/index.ts';

let directory: string;
let place: RunsPlace;
const deps: RunDeps = { clock: systemClock, identity: { pid: 42, host: 'here', uid: 1000 } };

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'pi-runs-'));
  place = runsPlace({ XDG_STATE_HOME: join(directory, 'state') }, directory);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function request(more: Partial<StartRequest> = {}): StartRequest {
  const checked = checkGraph({ objective: 'try it', steps: [{ id: 'one', prompt: 'do it' }] });
  if ('objections' in checked) throw new Error(checked.objections.join('\n'));
  return {
    graph: checked.graph,
    project: projectAt(directory),
    cwd: directory,
    session: null,
    below: { parentJob: null, depth: 0, maxDepth: 2 },
    settings: {
      concurrency: LIMITS.concurrency,
      timeoutSeconds: LIMITS.runSeconds,
      terminalRetentionSeconds: LIMITS.retentionSeconds,
      retry: 'died',
      maxCost: null,
      maxTokens: null,
    },
    schedule: null,
    ...more,
  };
}

describe('making a run (R1, R2)', () => {
  it('R1: is whole when it is seen: all files, private, its lock held', async () => {
    const held = await createRun(place, request(), deps);
    expect(await readManifest(held.directory)).toEqual({ kind: 'known', value: held.manifest });
    expect(await readState(held.directory)).toEqual({ kind: 'known', value: held.state });
    expect(isHeld(runLock(held.directory))).toBe(true);
    for (const name of ['.', ...readdirSync(held.directory)]) {
      const { mode } = statSync(join(held.directory, name));
      expect([name, mode & 0o077]).toEqual([name, 0]);
    }
    held.lock.release();
  });

  it('R2: an id that somebody has claimed is nobody else’s', async () => {
    const held = await createRun(place, request(), deps);
    held.lock.release();
    const { runId } = held.manifest;
    if (!isRunId(runId)) throw new Error(runId);
    await expect(createRun(place, request({ id: runId }), deps)).rejects.toThrow(
      `there is a run ${runId} already`,
    );
    expect(readdirSync(place.root)).toEqual([runId]);
  });

  it('R2: many at once, with the same random numbers, all get ids of their own', async () => {
    let count = 0;
    const few = (bytes: number): Uint8Array =>
      new Uint8Array(bytes).fill(bytes === 6 ? count++ % 4 : count++);
    const runs = await Promise.all(
      Array.from({ length: 4 }, () => createRun(place, request(), { ...deps, random: few })),
    );
    expect(new Set(runs.map(({ manifest }) => manifest.runId)).size).toBe(4);
    for (const { lock } of runs) lock.release();
  });

  it('R1: where there is no room for it nothing is left', async () => {
    mkdirSync(place.root, { recursive: true, mode: 0o700 });
    await createRun(place, request({ cwd: 'x'.repeat(10) }), {
      ...deps,
      // No directory can have that name.
      random: (bytes) => (bytes === 16 ? Buffer.alloc(200) : Buffer.alloc(bytes)),
    }).catch(() => undefined);
    expect(readdirSync(place.root)).toEqual([]);
  });
});
