/** Limits that are reached end in a clear message, and the sandbox survives them (rule 7, S17). */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ENGINES, readyEngine } from '../setup/engines.ts';
import { type Installation, installation } from '../setup/installation.ts';
import { eventually } from '../setup/look.ts';

describe.each(ENGINES)('S17: limits on %s', (kind) => {
  let here: Installation;
  let project: string;

  beforeAll(async () => {
    here = await installation(await readyEngine(kind, inject('e2e')));
    here.configure('.env', 'TMP_SIZE=2m\nPIDS=64\nMEMORY=512m\n');
    project = here.project();
  });

  afterAll(async () => {
    await here.cleanup();
    expect(await here.leftovers()).toEqual([]);
  });

  const shell = (script: string) => here.run(['shell', project, '--', 'bash', '-c', script]);

  it('S17: a full /tmp is named when a program has failed over it', async () => {
    const full = await shell('head -c 3m /dev/zero > /tmp/filler');
    expect(full.exitCode).not.toBe(0);
    expect(full.stderr).toContain('No space left on device');
    expect(full.stderr).toContain('no space left on /tmp (TMP_SIZE= makes it larger)');
    expect(await shell('rm /tmp/filler; echo fine > /tmp/x; cat /tmp/x')).toMatchObject({
      exitCode: 0,
      stdout: 'fine\n',
    });
  });

  it('S17: a program that takes too much memory is ended, and the limit is named', async () => {
    const greedy = await shell(`exec node -e 'const all = []; for (;;) all.push(Buffer.alloc(16 << 20, 1))'`);
    expect(greedy.exitCode).toBe(137);
    expect(greedy.stderr).toContain('for lack of memory (limit 512 MiB)');
    expect((await shell('echo alive')).stdout).toBe('alive\n');
  });

  it('S17: a program that opens too many files fails by itself', async () => {
    const script = `ulimit -n 64; exec node -e 'const fs = require("fs"); for (;;) fs.openSync("/dev/null")'`;
    const { exitCode, stderr } = await shell(script);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('EMFILE');
  });

  it('S17: a start that finds no room for a process says so, and works when there is some', async () => {
    const bomb = 'for i in $(seq 80); do (setsid sleep 5 &) 2>/dev/null; done; echo; sleep 1';
    await shell(bomb);
    const { exitCode, stderr } = await shell('echo up');
    if (exitCode !== 0) expect(stderr).toMatch(/PIDS=/);
    await eventually('room for a process', async () => (await shell('echo up')).stdout === 'up\n', 60_000);
    expect((await here.run(['stop', project])).exitCode).toBe(0);
  });
});
