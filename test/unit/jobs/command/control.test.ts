import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CommandScene, commandScene, ended } from './scene.ts';

/** A job in the middle of its first tool, which takes long. */
async function busy(
  { model, call, json }: CommandScene,
  name: string,
  more: readonly string[] = [],
): Promise<void> {
  model.callBash(`be busy with ${name}`, 'sleep 60', 'never');
  await call('start', '--name', name, ...more, `be busy with ${name}`);
  await expect
    .poll(async () => String((await json('peek', name)).lines), { timeout: 20_000 })
    .toContain('tool bash: sleep 60');
}

describe('multi-agent steer, abort, kill and answer', { timeout: 60_000 }, () => {
  it('J6: abort ends the turn and keeps the conversation; a job that has ended is not signalled', async () => {
    const scene = await commandScene();
    const { call, json, jobDirectory } = scene;
    await busy(scene, 'one');
    expect(await call('abort', 'one')).toEqual({ code: 0, stdout: 'one aborted\n', stderr: '' });
    expect(await json('status', 'one')).toMatchObject({ status: 'aborted', exitCode: 130 });
    const before = readFileSync(join(jobDirectory('one'), 'progress.log'), 'utf8');
    for (const words of [
      ['abort', 'one'],
      ['kill', 'one'],
      ['steer', 'one', 'left'],
      ['answer', 'one', 'yes'],
    ]) {
      expect(await call(...words)).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining('job "one" is not running: it is aborted'),
      });
    }
    expect(readFileSync(join(jobDirectory('one'), 'progress.log'), 'utf8')).toBe(before);
  });

  it('J4: kill and rm end what a job has left whose runner was killed', async () => {
    const scene = await commandScene();
    const { call, model, jobDirectory } = scene;
    for (const name of ['one', 'two']) {
      model.callBash(`leave ${name}`, '(setsid sleep 12347 &) ; sleep 60; true', 'never');
      await call('start', '--name', name, `leave ${name}`);
      await expect
        .poll(async () => processesOf(jobDirectory(name)).length, { timeout: 20_000 })
        .toBeGreaterThanOrEqual(4);
      process.kill(runnerOf(jobDirectory(name)), 'SIGKILL');
      await expect.poll(() => processesOf(jobDirectory(name)).length, { timeout: 20_000 }).toBe(1);
    }
    expect(await call('kill', 'one')).toEqual({ code: 0, stdout: 'one died\n', stderr: '' });
    expect(processesOf(jobDirectory('one'))).toEqual([]);
    expect(await call('kill', 'one')).toMatchObject({ code: 1, stderr: expect.stringContaining('has died') });
    expect(await call('rm', 'two')).toMatchObject({ code: 0 });
    expect(processesOf(jobDirectory('two'))).toEqual([]);
  });

  it('J6: a text is read after the current tool, or when the agent is done with what it does', async () => {
    const { model, call } = await commandScene();
    model.callBash('work a while', 'sleep 2', 'Worked.');
    model.say('turn left', 'Turned left.');
    model.say('then home', 'Went home.');
    await call('start', '--name', 'one', 'work a while');
    await expect
      .poll(async () => (await call('peek', 'one')).stdout, { timeout: 20_000 })
      .toContain('tool bash');
    const [steered, followed] = await Promise.all([
      call('steer', 'one', 'turn left'),
      call('follow-up', 'one', 'then', 'home', '--json'),
    ]);
    expect(steered.stdout).toMatch(/^(?:delivered|queued)\n$/);
    expect(JSON.parse(followed.stdout)).toMatchObject({ name: 'one', receipt: 'queued' });
    expect(await call('wait', 'one', '--timeout', '30s')).toMatchObject({ code: 0 });
    expect((await call('output', 'one')).stdout).toBe('Went home.\n');
    expect((await call('peek', 'one')).stdout).toMatch(/Turned left\..*Went home\./s);
  });

  it('J6: kill --tree ends the jobs below first, then the job', async () => {
    const scene = await commandScene();
    const { model, call, json } = scene;
    model.callBash('lead', 'multi-agent start --name leaf be busy; sleep 60', 'never');
    model.callBash('be busy', 'sleep 60', 'never');
    await call('start', '--name', 'top', 'lead');
    await expect
      .poll(async () => (await call('peek', 'leaf')).stdout, { timeout: 20_000 })
      .toContain('tool bash: sleep 60');
    expect(await call('rm', 'top')).toMatchObject({ code: 1, stderr: expect.stringContaining('"leaf"') });
    expect(await call('kill', '--tree', 'top')).toEqual({
      code: 0,
      stdout: 'leaf killed\ntop killed\n',
      stderr: '',
    });
    expect(await json('list', '--status', 'killed')).toMatchObject({
      jobs: [{ name: 'leaf' }, { name: 'top' }],
    });
  });

  it('J5: a dialog waits with --ask, status shows it, and answer answers it', async () => {
    const { model, call, json, agent, callWith } = await commandScene();
    const extension = join(agent, 'gate.ts');
    writeFileSync(
      extension,
      `export default (pi) => pi.on('tool_call', async (event, ctx) =>
         (await ctx.ui.confirm('Really?', 'run it')) ? undefined : { block: true, reason: 'refused' });`,
    );
    model.callBash('deploy', 'echo deployed', 'It is out.');
    await callWith({}, 'start', '--name', 'deploy', '--ask', 'deploy', '--', '-e', extension);
    await expect
      .poll(async () => (await json('status', 'deploy')).status, { timeout: 20_000 })
      .toBe('waiting');
    expect(await json('status', 'deploy')).toMatchObject({
      dialogs: [{ method: 'confirm', title: 'Really?' }],
    });
    expect(await call('answer', 'deploy', 'perhaps')).toMatchObject({ code: 1 });
    expect(await call('answer', 'deploy', 'yes')).toMatchObject({ code: 0, stdout: 'answered\n' });
    expect(await call('wait', '--timeout', '30s')).toMatchObject({ code: 0 });
    expect((await call('output', 'deploy')).stdout).toBe('It is out.\n');
  });

  it('J6: wait --timeout ends with 3, names what still runs, and changes nothing; --any ends with the first', async () => {
    const scene = await commandScene();
    const { call, model } = scene;
    await busy(scene, 'slow');
    model.say('be quick', 'Quick.');
    await call('start', '--name', 'quick', 'be quick');
    expect(await call('wait', '--any', 'slow', 'quick')).toMatchObject({ code: 0, stdout: 'quick done\n' });
    expect(await call('wait', '--timeout', '100ms')).toEqual({
      code: 3,
      stdout: '',
      stderr: 'multi-agent: still running: slow\n',
    });
    expect(await call('output', 'slow')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is running'),
    });
    expect((await call('status')).stdout).toMatch(/^name: slow\nstatus: running\n/);
  });

  it('J6: peek --follow prints what comes, and ends with the run', async () => {
    const { model, call, spawn } = await commandScene();
    model.callBash('work a while', 'sleep 2', 'Worked.');
    await call('start', '--name', 'one', 'work a while');
    const { code, stdout } = await ended(spawn(['peek', 'one', '--follow', '-n', '0']));
    expect(code).toBe(0);
    expect(stdout).toMatch(/text Worked\.\n.* run ends: done\n$/);
    expect(stdout.match(/Worked\./g)).toHaveLength(1);
  });

  it('J6: list --watch shows each change until it is ended', async () => {
    const { model, call, spawn } = await commandScene();
    model.callBash('work a while', 'sleep 1', 'Worked.');
    const watching = spawn(['list', '--watch', '--json']);
    const seen: unknown[] = [];
    watching.stdout?.on('data', (data) => {
      for (const line of String(data).trim().split('\n'))
        seen.push(JSON.parse(line).jobs[0]?.status ?? 'none');
    });
    await expect.poll(() => seen, { timeout: 10_000 }).toEqual(['none']);
    await call('start', '--name', 'one', 'work a while');
    await expect.poll(() => seen.at(-1), { timeout: 20_000 }).toBe('done');
    expect(seen).toContain('running');
    const over = ended(watching);
    watching.kill('SIGINT');
    expect((await over).code).toBe(0);
  });

  it('J11: a job whose runner was killed has died at once, and its next run works', async () => {
    const scene = await commandScene();
    const { call, json, jobDirectory, model } = scene;
    await busy(scene, 'one');
    process.kill(runnerOf(jobDirectory('one')), 'SIGKILL');
    await expect.poll(async () => (await json('status', 'one')).status, { timeout: 5_000 }).toBe('died');
    expect(await call('wait', 'one')).toMatchObject({ code: 1, stdout: 'one died\n' });
    expect((await call('steer', 'one', 'x')).stderr).toContain('is not running: it has died');
    model.say('go on', 'Went on.');
    expect(await call('resume', 'one', 'go on', '--wait')).toMatchObject({ code: 0, stdout: 'Went on.\n' });
  });

  it('J13: open runs interactive pi on the conversation, and refuses while the job runs', async () => {
    const scene = await commandScene();
    const { call, callWith, json, top } = scene;
    await busy(scene, 'one');
    expect(await call('open', 'one')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot be opened'),
    });
    await call('abort', 'one');
    // Only what pi is called with can be seen without a terminal.
    writeFileSync(join(top, 'bin/pi'), '#!/bin/sh\necho "$@" "$PWD" "[$MULTI_AGENT_JOB]"; exit 7\n', {
      mode: 0o755,
    });
    const { conversation } = await json('status', 'one');
    const opened = await callWith({ env: { MULTI_AGENT_JOB: '' } }, 'open', 'one');
    expect(opened).toEqual({
      code: 7,
      stdout: `--session ${conversation} ${scene.project} []\n`,
      stderr: '',
    });
  });

  it('J6: rm removes a job with its conversation, and keeps one that runs', async () => {
    const scene = await commandScene();
    const { call, json, jobDirectory, model } = scene;
    model.say('be quick', 'Quick.');
    await call('run', '--name', 'quick', 'be quick');
    const { conversation } = await json('status', 'quick');
    await busy(scene, 'slow');
    expect(await call('rm', 'quick', 'slow', 'nobody')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^removed quick \(.*\)\n$/),
      stderr: expect.stringMatching(/job "slow" is running.*there is no job "nobody"/s),
    });
    expect([existsSync(String(conversation)), existsSync(jobDirectory('quick'))]).toEqual([false, false]);
    expect(await call('prune', '--older-than', '0')).toMatchObject({
      code: 0,
      stdout: 'removed 0, kept 1\n',
    });
    await call('kill', 'slow');
    expect(await call('prune')).toMatchObject({ stdout: 'removed 0, kept 1\n' });
    expect((await json('prune', '--older-than', '0')).removed).toMatchObject([
      { name: 'slow', status: 'killed' },
    ]);
  });
});

/** The process that has the job's directory as its argument. */
function runnerOf(directory: string): number {
  const [pid] = pidsWhere('cmdline', directory);
  if (pid === undefined) throw new Error(`nothing runs ${directory}`);
  return pid;
}

function processesOf(directory: string): number[] {
  return pidsWhere('environ', `MULTI_AGENT_JOB=${directory}`);
}

function pidsWhere(file: 'environ' | 'cmdline', word: string): number[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      return readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0').includes(word) ? [Number(pid)] : [];
    } catch {
      // It has ended.
      return [];
    }
  });
}
