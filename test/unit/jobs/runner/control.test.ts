import { statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type HeldJob, runJob, socketFile } from '../../../../src/jobs/index.ts';
import { ask, connectJob, watchUntil } from '../../../setup/job-socket.ts';
import { fileOf, type JobWorld, jobWorld } from '../../../setup/job-world.ts';
import { until } from '../../../setup/pi.ts';

let world: JobWorld;
beforeAll(async () => {
  world = await jobWorld();
});
afterAll(() => world.stop());

const state = '{"version":1,"op":"state"}\n';

async function busy(name: string, inWorld = world) {
  inWorld.model.callBash(name, 'sleep 100', 'awake');
  const held = await inWorld.hold(name, name);
  const running = runJob(held, inWorld.options);
  await watchUntil(held, (text) => text.startsWith('tool'));
  return { held, running };
}

async function kill(held: HeldJob, running: Promise<unknown>): Promise<void> {
  await ask(held, { version: 1, op: 'kill' });
  await running;
}

describe('the socket of a job (J9)', () => {
  it('J9: is 0600 in a directory of 0700, and is gone with the run', async () => {
    const { held, running } = await busy('private');
    const path = socketFile(held.place, held.directory);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(path).isSocket()).toBe(true);
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
    await kill(held, running);
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
  });

  it('J9: garbage, half lines and other versions are answered or dropped, and the runner stays up', async () => {
    const { held, running } = await busy('garbage');
    const connection = await connectJob(held);
    connection.send('no json\n{"version":2,"op":"state"}\n{"version":1,"op":"dance"}\n[]\n\0\xff\n');
    for (let line = 0; line < 5; line++) {
      expect(await connection.next()).toMatchObject({ ok: false, error: { code: 'bad-request' } });
    }
    connection.send(`{"version":1,"op":"steer","text":"${'x'.repeat(1_200_000)}"}\n`);
    expect(await connection.next()).toMatchObject({ error: { code: 'too-long' } });
    connection.send('{"version":1,"op":"sta');
    connection.socket.destroy();
    expect(await ask(held, { version: 1, op: 'state' })).toMatchObject({ state: { status: 'running' } });
    await kill(held, running);
  });

  it('J9: several requests on a connection are answered in their order, also behind a closed half', async () => {
    const { held, running } = await busy('several');
    const connection = await connectJob(held);
    connection.socket.end(`${state}${state}{"version":1,"op":"answer","value":"x"}\n`);
    expect(await connection.next()).toMatchObject({ ok: true });
    expect(await connection.next()).toMatchObject({ ok: true });
    expect(await connection.next()).toMatchObject({ ok: false });
    expect(await connection.next()).toBeUndefined();
    await kill(held, running);
  });

  it('J9: a flood from one that never reads ends its connection only', async () => {
    const { held, running } = await busy('flood');
    const flood = await connectJob(held);
    flood.socket.pause();
    const closed = new Promise<void>((resolve) => flood.socket.once('close', () => resolve()));
    for (let round = 0; round < 200 && !flood.socket.destroyed; round++) {
      if (!flood.socket.write(state.repeat(1_000))) break;
    }
    expect(await ask(held, { version: 1, op: 'state' })).toMatchObject({ ok: true });
    flood.socket.destroy();
    await closed;
    await kill(held, running);
  });

  it('J9: more connections than the bound are sent away, and room comes back', async () => {
    const { held, running } = await busy('crowd');
    const crowd = await Promise.all(Array.from({ length: 70 }, () => connectJob(held)));
    const last = crowd.at(-1);
    expect(await last?.next()).toMatchObject({ ok: false, error: { code: 'failed' } });
    for (const { socket } of crowd) socket.destroy();
    await expect.poll(async () => (await ask(held, { version: 1, op: 'state' }))?.ok).toBe(true);
    await kill(held, running);
  });

  it('J9: the socket of a dead runner is replaced', async () => {
    const held = await world.hold('stale', 'stale');
    world.model.callBash('stale', 'sleep 100', 'x');
    const path = socketFile(held.place, held.directory);
    const dead = createServer();
    await new Promise<void>((resolve) => dead.listen(path, resolve));
    const old = statSync(path).ino;
    const running = runJob(held, world.options);
    await until('a new socket', () => statSync(path, { throwIfNoEntry: false })?.ino !== old);
    await watchUntil(held, (text) => text.startsWith('tool'));
    await kill(held, running);
    await new Promise((resolve) => dead.close(resolve));
  });

  it('J9: is reached however long the path of the state is', async () => {
    const far = await jobWorld({ state: `${'long-'.repeat(30)}/${'name-'.repeat(30)}` });
    const { held, running } = await busy('far', far);
    expect(Buffer.byteLength(socketFile(held.place, held.directory))).toBeGreaterThan(300);
    expect(await ask(held, { version: 1, op: 'state' })).toMatchObject({ ok: true });
    await kill(held, running);
    expect(statSync(socketFile(held.place, held.directory), { throwIfNoEntry: false })).toBeUndefined();
    await far.stop();
  });

  it('J9: a run goes on where it cannot listen, and says so', async () => {
    const other = await jobWorld();
    other.model.say('deaf', 'heard');
    const held = await other.hold('deaf', 'deaf');
    writeFileSync(`${held.place.state}/sockets`, 'in the way');
    expect(await runJob(held, other.options)).toMatchObject({ status: 'done' });
    expect(fileOf(held.directory, 'progress.log')).toContain('warning it cannot be controlled');
    expect(fileOf(held.directory, 'runner.log')).toContain('sockets');
    await other.stop();
  });
});

describe('steering a job (J6)', () => {
  it('J6: a text is delivered after the tool that runs, and the receipt says so', async () => {
    world.model.callBash('short', 'sleep 0.7', 'answered');
    world.model.say('also this', 'both done');
    const held = await world.hold('steer', 'short');
    const running = runJob(held, world.options);
    await watchUntil(held, (text) => text.startsWith('tool'));
    expect(await ask(held, { version: 1, op: 'steer', text: 'also this' })).toEqual({
      ok: true,
      receipt: 'delivered',
    });
    await running;
    expect(fileOf(held.directory, 'progress.log')).toContain(' steer also this');
  });

  it('J6: behind a long tool it is queued; what never came in is told', async () => {
    const { held, running } = await busy('long-tool');
    expect(await ask(held, { version: 1, op: 'steer', text: 'hurry' })).toEqual({
      ok: true,
      receipt: 'queued',
    });
    expect(await ask(held, { version: 1, op: 'follow-up', text: 'then' })).toEqual({
      ok: true,
      receipt: 'queued',
    });
    await kill(held, running);
    expect(fileOf(held.directory, 'progress.log')).toMatch(/warning it ended before: hurry.*before: then/s);
  });

  it('J6: a follow-up is worked on in the same run', async () => {
    world.model.callBash('first', 'sleep 0.5', 'first done');
    world.model.say('second', 'second done');
    const held = await world.hold('follow', 'first');
    const running = runJob(held, world.options);
    await watchUntil(held, (text) => text.startsWith('tool'));
    await ask(held, { version: 1, op: 'follow-up', text: 'second' });
    expect(await running).toMatchObject({ status: 'done' });
    expect(fileOf(held.directory, 'output.txt')).toBe('second done');
  });
});

describe('watching a job (J6)', () => {
  it('J6: shows every change of status, every line, and the end when it is committed', async () => {
    world.model.say('watch', 'seen');
    const held = await world.hold('watch', 'watch');
    const seen = watchUntil(held, (text) => text.startsWith('end'));
    await runJob(held, world.options);
    const notices = await seen;
    expect(notices.at(-1)).toBe('end done');
    expect(notices).toContain('status running');
    expect(notices).toContain('text seen');
  });
});
