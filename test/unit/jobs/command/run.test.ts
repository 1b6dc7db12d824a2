import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandScene, ended } from './scene.ts';

describe('multi-agent start, run and resume', { timeout: 60_000 }, () => {
  it('J6: run streams progress, prints the result alone on standard output, and ends with the job’s code', async () => {
    const { model, call } = await commandScene();
    model.callBash('count the files', 'echo three', 'There are three.');
    const done = await call('run', 'count', 'the', 'files');
    expect(done).toMatchObject({ code: 0, stdout: 'There are three.\n' });
    expect(done.stderr).toMatch(/^name: count-the-files\n/);
    expect(done.stderr).toContain('tool bash: echo three');
    model.fail('break', 400, 'no such model');
    const failed = await call('run', 'break');
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toMatch(/job break has failed: .*no such model/);
  });

  it('J6: start prints name, status_cmd and session_cmd; wait and output follow it to its end', async () => {
    const { model, call, json } = await commandScene();
    model.say('say hello', 'Hello.');
    expect(await call('start', '--name', 'greeting', 'say hello')).toEqual({
      code: 0,
      stderr: '',
      stdout:
        'name: greeting\nstatus_cmd: multi-agent status greeting\nsession_cmd: multi-agent open greeting\n',
    });
    expect(await call('wait', 'greeting')).toMatchObject({ code: 0, stdout: 'greeting done\n' });
    expect(await call('output', 'greeting')).toMatchObject({ code: 0, stdout: 'Hello.\n' });
    expect(await json('status', 'greeting')).toMatchObject({
      version: 1,
      name: 'greeting',
      status: 'done',
      exitCode: 0,
      runs: 1,
      session_cmd: 'multi-agent open greeting',
      usage: { tokens: { total: expect.any(Number) } },
    });
    expect((await call('peek', 'greeting')).stdout).toMatch(/text Hello\.\n.* run ends: done\n$/);
  });

  it('J6: prompts come from words, -, --file and --prompt, also when they begin with a dash', async () => {
    const { model, project, call, callWith } = await commandScene();
    for (const prompt of ['- a list', '-x', 'from a pipe', 'from a file', 'with pi arguments']) {
      model.say(prompt, `heard: ${prompt}`);
    }
    writeFileSync(join(project, 'task.md'), 'from a file');
    expect((await call('run', '- a list')).stdout).toBe('heard: - a list\n');
    expect((await call('run', '--prompt', '-x')).stdout).toBe('heard: -x\n');
    expect((await callWith({ input: 'from a pipe' }, 'run', '-')).stdout).toBe('heard: from a pipe\n');
    expect((await call('run', '--file', 'task.md')).stdout).toBe('heard: from a file\n');
    expect((await call('run', 'with pi arguments', '--', '--no-mcp')).stdout).toBe(
      'heard: with pi arguments\n',
    );
    expect(await call('run', 'x', '--', '--mode', 'json')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--mode cannot be given'),
    });
    expect(await call('run')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no prompt'),
    });
    expect(await call('run', 'a', '--prompt', 'b')).toMatchObject({ code: 2 });
  });

  it('J6: resume goes on with the same conversation, as the next run', async () => {
    const { model, call, json, jobDirectory } = await commandScene();
    model.say('first question', 'First answer.');
    model.say('second question', 'Second answer.');
    await call('run', '--name', 'talk', 'first question');
    const { code, stdout } = await call('resume', 'talk', 'second question', '--wait');
    expect([code, stdout]).toEqual([0, 'Second answer.\n']);
    expect(JSON.stringify(model.requests().at(-1))).toContain('First answer.');
    expect(await json('status', 'talk')).toMatchObject({ runs: 2, status: 'done', runMode: 'background' });
    expect(readFileSync(join(jobDirectory('talk'), 'prompt.txt'), 'utf8')).toBe('second question');
  });

  it('J6: Ctrl-C aborts a run, whose conversation is kept', async () => {
    const { model, spawn, json } = await commandScene();
    model.callBash('sleep long', 'sleep 60', 'never');
    const child = spawn(['run', '--name', 'slow', 'sleep long']);
    let progress = '';
    const onProgress = (data: Buffer): void => {
      progress += data.toString();
      if (!progress.includes('tool bash')) return;
      // Once: a second one would kill it.
      child.stderr?.off('data', onProgress).resume();
      child.kill('SIGINT');
    };
    child.stderr?.on('data', onProgress);
    expect(await ended(child)).toMatchObject({ code: 130, stdout: '' });
    const facts = await json('status', 'slow');
    expect(facts).toMatchObject({ status: 'aborted', exitCode: 130 });
    expect(existsSync(String(facts.conversation))).toBe(true);
  });

  it('J10: a run whose time is over says that its work may be half done', async () => {
    const { model, call } = await commandScene();
    model.callBash('sleep long', 'sleep 60', 'never');
    const { code, stderr } = await call('run', '--timeout', '2s', 'sleep long');
    expect(code).toBe(124);
    expect(stderr).toMatch(/ran out of time: .*half done/);
  });

  it('J8: a job of an agent is its child, in its project, and no deeper than the limit', async () => {
    const { model, call, json, top } = await commandScene();
    model.say('the inner task', 'Inner result.');
    model.callBash('the outer task', 'cd / && multi-agent run --name inner the inner task', 'Outer result.');
    expect((await call('run', '--name', 'outer', 'the outer task')).code).toBe(0);
    expect(await json('status', 'inner')).toMatchObject({
      parent: 'outer',
      depth: 1,
      status: 'done',
      cwd: '/',
    });
    expect((await call('list', '--tree')).stdout).toMatch(/^outer .*\n└─ inner /m);
    const deep = await commandScene();
    deep.model.callBash(
      'the outer task',
      'multi-agent run --name inner x 2>&1; echo code $?',
      'Outer result.',
    );
    await deep.callWith({ env: { MULTI_AGENT_MAX_DEPTH: '0' } }, 'run', '--name', 'outer', 'the outer task');
    expect(JSON.stringify(deep.model.requests().at(-1))).toMatch(
      /this agent is at depth 0 of at most 0.*code 2/,
    );
    expect(top).not.toBe(deep.top);
  });

  it('J11: of two starts of one name at once, and of two resumes, exactly one wins', async () => {
    const { model, call, json } = await commandScene();
    model.callBash('be busy', 'sleep 60', 'never');
    const start = () => call('start', '--name', 'one', 'be busy');
    const starts = await Promise.all([start(), start(), start()]);
    expect(starts.map(({ code }) => code).sort()).toEqual([0, 1, 1]);
    expect(starts.map(({ stderr }) => stderr).join('')).toMatch(/there is a job "one" already/);
    await call('kill', 'one');
    const resumes = await Promise.all([call('resume', 'one', 'be busy'), call('resume', 'one', 'be busy')]);
    expect(resumes.map(({ code }) => code).sort()).toEqual([0, 1]);
    expect(resumes.map(({ stderr }) => stderr).join('')).toMatch(/job "one" is running.*cannot be resumed/);
    expect(await json('status', 'one')).toMatchObject({ runs: 2 });
  });

  it('J8: what is set by mistake is named', async () => {
    const { callWith } = await commandScene();
    expect(await callWith({ env: { MULTI_AGENT_MAX_DEPTH: 'two' } }, 'start', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('MULTI_AGENT_MAX_DEPTH: "two" is no depth'),
    });
    expect(await callWith({ env: { MULTI_AGENT_JOB: '/nowhere' } }, 'list')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('MULTI_AGENT_JOB names it, and it is gone'),
    });
    expect(await callWith({}, 'start', '--profile', 'nobody', 'x')).toMatchObject({ code: 2 });
    expect(await callWith({}, 'start', '--cwd', '/nowhere', 'x')).toMatchObject({ code: 2 });
    expect(await callWith({}, 'start', '--timeout', 'soon', 'x')).toMatchObject({ code: 2 });
    expect(await callWith({}, 'start', '--name', 'Not A Name', 'x')).toMatchObject({ code: 2 });
  });
});
