import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Frame, FrameConnection } from '../../../src/wire/index.ts';
import { makePiWorld, type PiWorld, runPi, until } from '../../setup/pi.ts';
import { startRpcPi } from '../../setup/pi-rpc.ts';
import { startTerminalPi, type TerminalPi } from '../../setup/pi-terminal.ts';

let directory: string;
let world: PiWorld;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'session-wait-'));
  world = await makePiWorld(directory);
}, 300_000);

afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('a terminal on a taken Session', () => {
  it('H3: waits, sends nothing, reads the file again when the other pi dies, and goes on', async () => {
    const file = join(directory, 'taken.jsonl');
    await runPi(world, ['--session', file, '-p', 'run echo first']);
    const holder = startRpcPi(world, ['--session', file]);
    await holder.request({ type: 'get_state' });
    const terminal = startTerminalPi(world, ['--session', file, '--thinking', 'off']);
    await terminal.see(`process ${holder.pid}`);
    await terminal.see('Input is blocked');
    terminal.type('run touch blocked-input\r');
    await terminal.see('not sent');
    terminal.type('\x15!touch blocked-bash\r');
    await terminal.see('Not run');
    await holder.prompt('run echo second-by-the-holder');
    const before = readFileSync(file, 'utf8');
    expect(before).not.toContain('blocked');
    await holder.kill('SIGKILL');
    await terminal.see('second-by-the-holder');
    await terminal.see('was read again');
    expect(readFileSync(file, 'utf8')).toBe(before);
    terminal.type('\x15run touch done\r');
    await until('the prompt to run', () => existsSync(join(world.project, 'done')));
    await until('the answer', () =>
      readFileSync(file, 'utf8').includes('Exactly what you typed', before.length),
    );
    await terminal.kill();
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n').slice(1);
    const entries = lines.map((line): Record<string, unknown> => JSON.parse(line));
    const parents = entries.map(({ parentId }) => parentId);
    // One line of descent: nothing of the blocked time became a branch or lost its parent.
    expect(parents).toEqual([null, ...entries.slice(0, -1).map(({ id }) => id)]);
    expect(existsSync(join(world.project, 'blocked-input'))).toBe(false);
    expect(existsSync(join(world.project, 'blocked-bash'))).toBe(false);
  });
});

/** A slash command opens a list of commands, so Enter comes a moment after it, as from a person. */
async function command(terminal: TerminalPi, text: string): Promise<void> {
  await sleep(500);
  terminal.type(text);
  await sleep(500);
  terminal.type('\r');
}

describe('a terminal on its own Session', () => {
  it('H3: keeps the lock through /reload, and /new gives it back', async () => {
    const file = join(directory, 'own.jsonl');
    await runPi(world, ['--session', file, '-p', 'run echo first']);
    const terminal = startTerminalPi(world, ['--session', file]);
    await terminal.see('demo-1');
    await command(terminal, '/reload');
    await terminal.see('Reloaded');
    expect((await runPi(world, ['--session', file, '-p', 'hi'])).code).toBe(1);
    terminal.type('run touch after-reload\r');
    await until('the prompt to run', () => existsSync(join(world.project, 'after-reload')));
    await terminal.see('Exactly what you typed');
    await command(terminal, '/new');
    await terminal.see('New session started');
    expect((await runPi(world, ['--session', file, '-p', 'run true'])).code).toBe(0);
    await terminal.kill();
  });
});

describe('presence', () => {
  it('S14: says which Session is open for as long as it is, and pi survives the supervisor', async () => {
    const runtime = join(directory, 'runtime', 'pi-sandbox');
    mkdirSync(runtime, { recursive: true });
    writeFileSync(join(runtime, 'token'), 'secret\n');
    const open: { socket: Socket; frames: Frame[] }[] = [];
    const all: Frame[] = [];
    const server = createServer((socket) => {
      const entry: { socket: Socket; frames: Frame[] } = { socket, frames: [] };
      open.push(entry);
      socket.once('close', () => open.splice(open.indexOf(entry), 1));
      new FrameConnection(socket).onFrame((frame) => {
        entry.frames.push(frame);
        all.push(frame);
      });
    }).listen(join(runtime, 'supervisor.sock'));
    const pi = startRpcPi(world, ['--session-id', 'presence-1', '--name', 'one']);
    const here = (id: string, name?: string) =>
      open.length === 1 &&
      open.some(({ frames }) =>
        frames.some(
          (frame) =>
            frame.type === 'open' &&
            frame.value.verb === 'presence' &&
            frame.value.id === id &&
            frame.value.name === name &&
            frame.value.pid === pi.pid,
        ),
      );
    await until('the announcement', () => here('presence-1', 'one'));
    expect(all[0]).toMatchObject({ type: 'hello', value: { token: 'secret' } });
    await pi.request({ type: 'set_session_name', name: 'two' });
    await until('the new name', () => here('presence-1', 'two'));
    await pi.request({ type: 'new_session' });
    await until('the new Session', () => open.length === 1 && !here('presence-1', 'two'));
    server.close();
    for (const { socket } of open) socket.destroy();
    await sleep(100);
    await pi.prompt('run echo still here');
    await pi.end();
    expect(pi.errors()).not.toContain('pi-sandbox');
  });
});
