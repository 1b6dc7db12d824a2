import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readJob, reopenJob, runJob } from '../../../../src/jobs/index.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { watchUntil } from '../../../setup/job-socket.ts';
import { fileOf, jobWorld } from '../../../setup/job-world.ts';
import { smallDisk } from '../../lib/temporary.ts';

describe('a disk that is full (J11)', () => {
  it('J11: a result that finds no room is never told as done, and the next run is', async (context) => {
    const disk = smallDisk(512);
    if ('skip' in disk) return context.skip(disk.skip);
    const world = await jobWorld({ state: disk.path });
    world.model.callBash('fill', 'sleep 1', 'the result that finds no room');
    world.model.say('again', 'room again');
    const held = await world.hold('fill', 'fill');
    const running = runJob(held, world.options).catch((error: unknown) => error);
    await watchUntil(held, (text) => text.startsWith('tool'));
    const filler = join(disk.path, 'filler');
    expect(() => writeFileSync(filler, Buffer.alloc(1_024 * 1_024))).toThrow('ENOSPC');
    expect(await running).toHaveProperty('code', 'ENOSPC');
    expect(fileOf(held.directory, 'exit_code')).toBeUndefined();
    expect(await readJob(held.directory)).toMatchObject({ status: 'died' });
    rmSync(filler);
    const next = await world.holdAgain(held, 'again');
    expect(await runJob(next, world.options)).toMatchObject({ status: 'done' });
    expect(await readJob(held.directory)).toMatchObject({ status: 'done' });
    await world.stop();
  });

  it('J11: a result that alone finds no room makes a failure that says so', async (context) => {
    const disk = smallDisk(512);
    if ('skip' in disk) return context.skip(disk.skip);
    const world = await jobWorld({ state: disk.path });
    world.model.say('long', 'much '.repeat(130_000));
    const held = await world.hold('long', 'long');
    expect(await runJob(held, world.options)).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^not-written: cannot write .*output\.txt: no space left/),
    });
    expect(await readJob(held.directory)).toMatchObject({ status: 'failed' });
    await world.stop();
  });

  it('J11: a next run that finds no room leaves the one before as it was', async (context) => {
    const disk = smallDisk(512);
    if ('skip' in disk) return context.skip(disk.skip);
    const world = await jobWorld({ state: disk.path });
    world.model.say('first', 'the first result');
    const held = await world.hold('build', 'first');
    expect(await runJob(held, world.options)).toMatchObject({ status: 'done' });
    const filler = join(disk.path, 'filler');
    expect(() => writeFileSync(filler, Buffer.alloc(1_024 * 1_024))).toThrow('ENOSPC');
    const files = readdirSync(held.directory).sort();
    const deps = {
      clock: systemClock,
      identity: { pid: process.pid, host: 'test' },
      sessionLocks: join(world.directory, 'locks'),
      endOldProcesses: async () => {},
    };
    const again = reopenJob(held.place, held.directory, 'again '.repeat(20_000), deps);
    await expect(again).rejects.toHaveProperty('code', 'ENOSPC');
    expect(readdirSync(held.directory).sort()).toEqual(files);
    expect(await readJob(held.directory)).toMatchObject({ status: 'done' });
    expect(fileOf(held.directory, 'output.txt')).toBe('the first result');
    expect(fileOf(held.directory, 'prompt.txt')).toBe('first');
    await world.stop();
  });

  it('J11: a fifo or a link in place of a log holds nothing up, and nothing is written behind it', async () => {
    const world = await jobWorld();
    world.model.say('blocked', 'free');
    const held = await world.hold('blocked', 'blocked');
    const elsewhere = join(world.directory, 'elsewhere');
    writeFileSync(elsewhere, 'mine');
    execFileSync('mkfifo', [join(held.directory, 'progress.log')]);
    symlinkSync(elsewhere, join(held.directory, 'runner.log'));
    expect(await runJob(held, world.options)).toMatchObject({ status: 'done' });
    expect(readFileSync(elsewhere, 'utf8')).toBe('mine');
    await world.stop();
  });

  it('J11: a job directory that vanished while it ran is an error, and pi is gone', async () => {
    const world = await jobWorld();
    world.model.callBash('vanish', 'sleep 1', 'where');
    const held = await world.hold('vanish', 'vanish');
    const running = runJob(held, world.options).catch((error: unknown) => error);
    await watchUntil(held, (text) => text.startsWith('tool'));
    // In one step: file by file, the run would write between them.
    renameSync(held.directory, join(world.directory, 'vanished'));
    expect(await running).toHaveProperty('code', 'ENOENT');
    await world.stop();
  });
});
