import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { pathsOf } from '../../../src/agent-dir/index.ts';
import { linkCompileCache } from '../../../src/container/setup/compile-cache.ts';
import { SandboxStatus } from '../../../src/wire/index.ts';
import {
  ask,
  connectTo,
  finished,
  greetSupervisor,
  isAlive,
  makeRoots,
  mergeOf,
  OWN,
  runIn,
  runningSandbox,
  runRequest,
  startSandbox,
  type TestSandbox,
  temporary,
  until,
} from './sandbox.ts';

const TERMINAL = { columns: 80, rows: 24 };

async function statusOf(sandbox: TestSandbox) {
  const reply = await ask(await sandbox.join(), { verb: 'status' });
  if (reply.answer !== 'accepted') throw new Error(reply.answer);
  return SandboxStatus.parse(reply.value);
}

async function announce(sandbox: TestSandbox, pid: number, id = 's1') {
  const connection = await sandbox.join();
  const request = { verb: 'presence', kind: 'session', id, pid } as const;
  expect(await ask(connection, request)).toEqual({ answer: 'accepted' });
  return connection;
}

describe('a first start', () => {
  it('S14: it serves the client on its own streams, and sets everything up before the program runs', async () => {
    const sandbox = startSandbox();
    const { agent, home, accounts } = pathsOf(sandbox.roots);
    await greetSupervisor(sandbox.first);
    const script = `ls -A ${agent} && readlink ${home}/.kube && cat ${accounts}/passwd && umask`;
    const reply = await ask(sandbox.first, runRequest(['sh', '-c', script]), await mergeOf());
    expect(reply).toEqual({ answer: 'accepted' });
    const { stdout, exited } = await finished(sandbox.first);
    expect(exited).toEqual({ code: 0, signal: null });
    expect(stdout.toString()).toContain('auth.json');
    expect(stdout.toString()).toContain(`${sandbox.roots.domain}/cli/kube`);
    expect(stdout.toString()).toContain(`pi:x:${OWN.uid}:${OWN.gid}:pi:${home}:/bin/bash`);
  });

  it('S2, S14: a volume of another uid is refused, with the repair, and waited for', async ({ skip }) => {
    if (OWN.uid !== 0) skip('only root can give a directory away');
    const roots = makeRoots();
    const { chownSync } = await import('node:fs');
    chownSync(roots.domain, 4_711, 4_711);
    const sandbox = startSandbox({ roots, times: { firstIdleMs: 700 } });
    await greetSupervisor(sandbox.first);
    const reply = await ask(sandbox.first, runRequest(['true']), await mergeOf());
    expect(reply).toMatchObject({ answer: 'refused', reason: 'foreign-volume' });
    expect(JSON.stringify(reply)).toContain('pi-sandbox volumes chown');
    // Whoever repairs it finds the same container.
    chownSync(roots.domain, OWN.uid, OWN.gid);
    const again = await sandbox.join();
    expect(await ask(again, runRequest(['true']), await mergeOf())).toEqual({ answer: 'accepted' });
    again.destroy();
    sandbox.child.kill('SIGTERM');
    expect(await sandbox.exit).toBe(0);
  });

  it('S14: a first request without its configuration is refused, and the container goes', async () => {
    const sandbox = startSandbox();
    await greetSupervisor(sandbox.first);
    expect(await ask(sandbox.first, runRequest(['true']))).toMatchObject({ answer: 'refused' });
    expect(await sandbox.exit).toBe(0);
  });

  it('S14: nobody comes: the container goes', async () => {
    const sandbox = startSandbox({ times: { firstIdleMs: 200 } });
    expect(await sandbox.exit).toBe(0);
  });

  it('S21: another uid gets a link to the compile cache of the image, instead of what Node made', () => {
    const roots = makeRoots();
    const image = temporary();
    writeFileSync(`${image}/compile-cache.name`, 'v24.1.0-x64-abcd-1000\n');
    const path = `${roots.memory}/compile-cache/v24.1.0-x64-abcd-1001`;
    mkdirSync(path, { recursive: true });
    linkCompileCache(roots, image, 1001);
    linkCompileCache(roots, image, 1001);
    expect(readlinkSync(path)).toBe(`${image}/compile-cache/v24.1.0-x64-abcd-1000`);
    linkCompileCache(roots, image, 1000);
    expect(readdirSync(`${roots.memory}/compile-cache`)).toHaveLength(1);
    linkCompileCache(roots, temporary(), 1001);
  });
});

describe('a stranger on the socket', () => {
  it('H2: socket and token are their owner’s alone', async () => {
    const { roots } = await runningSandbox();
    const paths = pathsOf(roots);
    expect(statSync(paths.socketDirectory).mode & 0o777).toBe(0o700);
    expect(statSync(paths.socket).mode & 0o777).toBe(0o600);
    expect(statSync(paths.token).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['a wrong token', { token: 'wrong' }, 'wrong token'],
    ['no token', {}, 'wrong token'],
    ['another protocol', { token: 'x', protocol: 99 }, 'pi-sandbox stop, then start again'],
  ])('H2: %s is refused', async (_what, hello, message) => {
    const { roots } = await runningSandbox();
    const connection = await connectTo(roots);
    await greetSupervisor(connection, hello);
    const frame = await connection.read();
    expect(JSON.stringify(frame)).toContain(message);
    expect((await connection.read())?.type).toBe('bye');
  });

  it('H2: a first frame that is no hello, and bytes that are no frame, end that connection alone', async () => {
    const sandbox = await runningSandbox();
    const early = await connectTo(sandbox.roots);
    early.send({ type: 'open', value: { verb: 'status' } });
    await early.read();
    expect(JSON.stringify(await early.read())).toContain('the first frame must be hello');
    const garbage = connect({ path: pathsOf(sandbox.roots).socket });
    garbage.on('error', () => undefined).resume();
    garbage.write(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
    await once(garbage, 'close');
    expect((await runIn(sandbox, ['true'])).exited?.code).toBe(0);
  });

  it('H2: who says nothing is let go', async () => {
    const sandbox = await runningSandbox({ times: { greetingMs: 200 } });
    const silent = connect({ path: pathsOf(sandbox.roots).socket });
    silent.resume();
    await once(silent, 'close');
    expect((await runIn(sandbox, ['true'])).exited?.code).toBe(0);
  });

  it('H2: connections that were answered are given back, also when the peer never hangs up', async () => {
    const sandbox = await runningSandbox();
    const count = (): number => readdirSync(`/proc/${sandbox.child.pid}/fd`).length;
    const before = count();
    for (let n = 0; n < 20; n++) await statusOf(sandbox);
    await until(() => count() <= before + 1, 'the descriptors to be given back', 15_000);
  });
});

describe('what lives in a sandbox', () => {
  it('S14: it ends a while after the last client, and not while one is there', async () => {
    const sandbox = await runningSandbox({}, { idleStopMinutes: 0.005 });
    await sleep(600);
    expect(isAlive(sandbox.child.pid ?? 0)).toBe(true);
    sandbox.first.send({ type: 'end-of-input' });
    expect(await sandbox.exit).toBe(0);
    expect(sandbox.log().at(-1)).toMatchObject({ event: 'ended', reason: 'idle' });
  });

  it('S14: a Session that announced itself keeps it, until the kernel closes its connection', async () => {
    const sandbox = await runningSandbox({}, { idleStopMinutes: 0.005 });
    const code = `
      const { connect } = require('node:net');
      const socket = connect(process.argv[1]);
      socket.write(Buffer.from(process.argv[2], 'base64'));
      socket.once('data', () => console.log('there'));`;
    const { encodeFrame } = await import('../../../src/wire/index.ts');
    const paths = pathsOf(sandbox.roots);
    const token = readFileSync(paths.token, 'utf8').trim();
    const bytes = Buffer.concat([
      ...encodeFrame({ type: 'hello', value: { protocol: 1, version: 'x', token } }),
      ...encodeFrame({
        type: 'open',
        value: { verb: 'presence', kind: 'session', id: 's', name: 'n', pid: 99_999_999 },
      }),
    ]);
    const holder = spawn(process.execPath, ['-e', code, paths.socket, bytes.toString('base64')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(holder.stdout, 'data');
    await until(async () => (await statusOf(sandbox)).living.some(({ id }) => id === 's'), 'the Session');
    sandbox.first.send({ type: 'end-of-input' });
    await sleep(600);
    expect(isAlive(sandbox.child.pid ?? 0)).toBe(true);
    holder.kill('SIGKILL');
    expect(await sandbox.exit).toBe(0);
  });

  it('S14: of two connections of one Session the second keeps it alive when the first ends', async () => {
    const sandbox = await runningSandbox({}, { idleStopMinutes: 0.005 });
    const [one] = [await announce(sandbox, 99_999_999), await announce(sandbox, 99_999_999)];
    one.destroy();
    sandbox.first.send({ type: 'end-of-input' });
    await sleep(600);
    expect((await statusOf(sandbox)).living).toHaveLength(1);
  });

  it('S14: the status names clients and Sessions, and processes that were left behind', async () => {
    const sandbox = await runningSandbox();
    const left = await runIn(sandbox, ['sh', '-c', 'setsid sleep 61 >/dev/null 2>&1 & echo $!']);
    const pid = Number(left.stdout.toString());
    const status = await statusOf(sandbox);
    expect(status.living).toMatchObject([{ kind: 'client', name: 'command' }]);
    // The machine of a test has many processes of others, so that the list of strays may be cut.
    if (status.stray.length < 100) expect(status.stray.map((stray) => stray.pid)).toContain(pid);
    process.kill(pid);
  });
});

describe('the end of a sandbox', () => {
  it('S15: stop is answered first, gives time to save, and ends with the last line of the log', async () => {
    const sandbox = await runningSandbox();
    const file = `${sandbox.roots.domain}/saved`;
    const saving = await sandbox.join();
    const script = `trap 'sleep 0.3; echo yes >${file}; exit 5' TERM; echo ready; while :; do sleep 0.05; done`;
    await ask(saving, runRequest(['bash', '-c', script]));
    await saving.read();
    const stop = await sandbox.join();
    expect(await ask(stop, { verb: 'stop', reason: 'a test' })).toEqual({ answer: 'accepted' });
    expect((await finished(saving)).exited).toEqual({ code: 5, signal: null });
    expect(await sandbox.exit).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe('yes\n');
    expect(sandbox.log().at(-1)).toMatchObject({ event: 'ended', reason: 'a test' });
  });

  it('S15: an interactive shell, which takes no SIGTERM, ends at once with its jobs', async () => {
    const sandbox = await runningSandbox({ times: { stopGraceMs: 8_000 } });
    const shell = await sandbox.join();
    await ask(shell, runRequest(['-i'], { program: 'shell', terminal: TERMINAL }));
    const result = finished(shell);
    await sleep(300);
    const before = performance.now();
    sandbox.child.kill('SIGTERM');
    expect(await sandbox.exit).toBe(0);
    expect((await result).exited).toBeDefined();
    expect(performance.now() - before).toBeLessThan(6_000);
  });

  it('S15: who does not end in time is not waited for any longer', async () => {
    const sandbox = await runningSandbox({ times: { stopGraceMs: 300 } });
    const stubborn = await sandbox.join();
    await ask(stubborn, runRequest(['bash', '-c', `trap '' TERM; echo $$; while :; do sleep 0.1; done`]));
    const frame = await stubborn.read();
    sandbox.child.kill('SIGTERM');
    expect(await sandbox.exit).toBe(0);
    expect(sandbox.log().map(({ event }) => event)).toContain('not-ended');
    // In a container it ends with the container.
    if (frame?.type === 'data') process.kill(Number(Buffer.from(frame.bytes).toString()), 'SIGKILL');
  });

  it('S14: once the end has begun a request is told so, and a status is still given', async () => {
    const sandbox = await runningSandbox();
    const slow = await sandbox.join();
    await ask(
      slow,
      runRequest(['bash', '-c', `trap 'sleep 1; exit' TERM; echo x; while :; do sleep 0.05; done`]),
    );
    await slow.read();
    const late = await sandbox.join();
    sandbox.child.kill('SIGTERM');
    await until(() => sandbox.log().some(({ event }) => event === 'ending'), 'the end to begin');
    expect(await ask(late, runRequest(['true']))).toEqual({ answer: 'closing' });
    expect((await statusOf(sandbox)).version).toBe('1.2.3');
    expect(await sandbox.exit).toBe(0);
  });

  it('S14: a request whose configuration is still coming when the end begins is told so', async () => {
    const sandbox = await runningSandbox();
    const late = await sandbox.join();
    const tar = await mergeOf();
    const { sha256 } = await import('./sandbox.ts');
    const merge = { length: tar.length, sha256: sha256(tar) };
    late.send({ type: 'open', value: runRequest(['true'], { merge }) });
    late.send({ type: 'blob', bytes: tar.subarray(0, 100) });
    await sleep(100);
    sandbox.child.kill('SIGTERM');
    await until(() => sandbox.log().some(({ event }) => event === 'ending'), 'the end to begin');
    late.send({ type: 'blob', bytes: tar.subarray(100) });
    expect(await late.read()).toMatchObject({ type: 'reply', value: { answer: 'closing' } });
    expect(await sandbox.exit).toBe(0);
  });

  it('S14: pids that a hostile program announced are never signalled', async () => {
    const sandbox = await runningSandbox();
    for (const [n, pid] of [0, 1, -1, sandbox.child.pid ?? 0].entries())
      await announce(sandbox, pid, `s${n}`);
    const other = await sandbox.join();
    await ask(other, runRequest(['cat']));
    const result = finished(other);
    const stop = await sandbox.join();
    await ask(stop, { verb: 'stop', reason: 'a test' });
    expect((await result).exited).toEqual({ code: null, signal: 'SIGTERM' });
    expect(await sandbox.exit).toBe(0);
    expect(process.pid).toBeGreaterThan(1);
  });

  it('S4: what stands in a link’s place at the end goes behind the link', async () => {
    const sandbox = await runningSandbox();
    const { agent } = pathsOf(sandbox.roots);
    writeFileSync(`${agent}/fresh`, '{"x":1}');
    renameSync(`${agent}/fresh`, `${agent}/mcp-auth.json`);
    sandbox.child.kill('SIGTERM');
    expect(await sandbox.exit).toBe(0);
    expect(readFileSync(`${sandbox.roots.domain}/mcp-auth.json`, 'utf8')).toBe('{"x":1}');
    expect(lstatSync(`${agent}/mcp-auth.json`).isSymbolicLink()).toBe(true);
  });

  it('S14: the loss of every volume does not keep it from ending', async () => {
    const sandbox = await runningSandbox({ times: { closeMs: 500 } });
    // All that the last steps want to write to vanishes at one moment: while it stands still, nothing is put back.
    sandbox.child.kill('SIGSTOP');
    const state = () => readFileSync(`/proc/${sandbox.child.pid}/stat`, 'utf8').replace(/^.*\) /s, '')[0];
    await until(() => state() === 'T', 'it to stand still');
    const { shared, domain, memory } = sandbox.roots;
    for (const root of [shared, domain, memory]) rmSync(root, { recursive: true });
    sandbox.child.kill('SIGTERM');
    sandbox.child.kill('SIGCONT');
    expect(await sandbox.exit).toBe(0);
    expect(existsSync(shared)).toBe(false);
  });
});
