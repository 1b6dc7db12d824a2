/** The tool `multi_agent` in a real pi that starts real jobs (J12). */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { textOfMessage } from '../../../src/pi/index.ts';
import { type CommandScene, commandScene } from '../jobs/command/scene.ts';
import { calls, openPi } from './jobs-scene.ts';

const PATIENT = { timeout: 60_000 };

const start = (name: string) => ({ action: 'start', name, prompt: `task of ${name}` });

function notifiedAt(scene: CommandScene, name: string): unknown {
  return JSON.parse(readFileSync(join(scene.jobDirectory(name), 'job.json'), 'utf8')).notifiedAt;
}

/** How often the Session's file tells an end. */
function tellings(scene: CommandScene, name: string, session = 'one'): number {
  const file = readFileSync(join(scene.top, `${session}.jsonl`), 'utf8');
  return file
    .split('\n')
    .filter((line) => line.includes('"custom_message"') && line.includes(`Job \\"${name}\\": done`)).length;
}

describe('the tool multi_agent', () => {
  it(
    'J12: starts a job, and the Session is told of its end once, in a turn of its own',
    PATIENT,
    async () => {
      const scene = await commandScene();
      calls(scene, 'begin one', 'multi_agent', start('one'));
      scene.model.callBash('task of one', 'until [ -e go ]; do sleep 0.05; done', 'result of one');
      scene.model.say('Job "one": done', 'read it');
      const { client, message } = await openPi(scene);
      await client.prompt('begin one').outcome;
      expect(textOfMessage(await message('toolResult', 'has started'))).toContain('Job "one"');
      expect(notifiedAt(scene, 'one')).toBeNull();
      expect(await scene.json('status', 'one')).toMatchObject({
        status: expect.stringMatching(/^(starting|running)$/),
      });
      writeFileSync(join(scene.project, 'go'), '');
      await message('custom', 'result of one');
      await message('assistant', 'read it');
      await vi.waitFor(() => expect(notifiedAt(scene, 'one')).not.toBeNull(), 5_000);
      await client.stop();
      expect(tellings(scene, 'one')).toBe(1);
    },
  );

  it(
    'J12: what a wait has told is not told again, and what the job used counts for the Session',
    PATIENT,
    async () => {
      const scene = await commandScene();
      calls(scene, 'begin two', 'multi_agent', start('two'));
      scene.model.say('task of two', 'result of two');
      calls(scene, 'wait for it', 'multi_agent', { action: 'wait', job: 'two' });
      calls(scene, 'show it', 'multi_agent', { action: 'output', job: 'two' });
      const { client, message, messages } = await openPi(scene);
      await client.prompt('begin two').outcome;
      await client.prompt('wait for it').outcome;
      const waited = await message('toolResult', 'result of two');
      const { tokens } = JSON.parse(readFileSync(join(scene.jobDirectory('two'), 'usage.json'), 'utf8'));
      expect(waited.usage).toMatchObject({ input: tokens.input, output: tokens.output });
      await client.prompt('show it').outcome;
      // Charged once.
      expect(messages.filter(({ role }) => role === 'toolResult').at(-1)?.usage).toBeUndefined();
      await vi.waitFor(() => expect(notifiedAt(scene, 'two')).not.toBeNull(), 5_000);
      await client.stop();
      expect(tellings(scene, 'two')).toBe(0);
    },
  );

  it('J12: a job that a shell of the Session has started is told as well', PATIENT, async () => {
    const scene = await commandScene();
    scene.model.callBash('use the shell', 'multi-agent start --name three "task of three"', 'started');
    scene.model.say('task of three', 'result of three');
    scene.model.say('Job "three": done', 'read it');
    const { client, message } = await openPi(scene);
    await client.prompt('use the shell').outcome;
    await message('custom', 'result of three');
    await message('assistant', 'read it');
  });

  it('J12: an end while the Session was closed is told when it is opened again, once', PATIENT, async () => {
    const scene = await commandScene();
    calls(scene, 'begin four', 'multi_agent', start('four'));
    scene.model.callBash('task of four', 'sleep 2', 'result of four');
    scene.model.say('Job "four": done', 'read it');
    scene.model.say('hello again', 'hi');
    const first = await openPi(scene);
    await first.client.prompt('begin four').outcome;
    await first.client.stop();
    expect(await scene.call('wait', 'four')).toMatchObject({ code: 0 });
    const second = await openPi(scene);
    await second.message('assistant', 'read it');
    await second.client.stop();
    const third = await openPi(scene);
    await third.client.prompt('hello again').outcome;
    await third.client.stop();
    expect(tellings(scene, 'four')).toBe(1);
    // Another Session hears nothing of it.
    const other = await openPi(scene, 'two');
    await other.client.prompt('hello again').outcome;
    await other.client.stop();
    expect(tellings(scene, 'four', 'two')).toBe(0);
  });

  it('J12: an end does not interrupt the tool that runs', PATIENT, async () => {
    const scene = await commandScene();
    calls(scene, 'begin five', 'multi_agent', start('five'));
    scene.model.callBash('task of five', 'until [ -e go ]; do sleep 0.05; done', 'result of five');
    const work = 'touch go; multi-agent wait five >/dev/null; sleep 1; echo tool has ended';
    scene.model.callBash('work for a while', work, 'worked');
    scene.model.say('Job "five": done', 'read it');
    const { client, message, messages } = await openPi(scene);
    await client.prompt('begin five').outcome;
    await client.prompt('work for a while').outcome;
    await message('assistant', 'read it');
    const texts = messages.map(textOfMessage);
    const tool = texts.findIndex((text) => text.includes('tool has ended'));
    expect(tool).toBeGreaterThan(0);
    expect(texts.findIndex((text) => text.includes('Job "five": done'))).toBeGreaterThan(tool);
  });

  it('J12: steers, aborts and resumes', PATIENT, async () => {
    const scene = await commandScene();
    calls(scene, 'begin six', 'multi_agent', start('six'));
    scene.model.callBash('task of six', 'sleep 60', 'never');
    calls(scene, 'stop it', 'multi_agent', { action: 'abort', job: 'six' });
    calls(scene, 'go on', 'multi_agent', { action: 'resume', job: 'six', prompt: 'rest of it' });
    scene.model.say('rest of it', 'result of the rest');
    calls(scene, 'wait for it', 'multi_agent', { action: 'wait' });
    scene.model.say('Job "six"', 'read it');
    const { client, message } = await openPi(scene);
    await client.prompt('begin six').outcome;
    await client.prompt('stop it').outcome;
    await message('toolResult', 'Job "six": aborted');
    await client.prompt('go on').outcome;
    await message('toolResult', 'Job "six" goes on');
    await client.prompt('wait for it').outcome;
    await message('toolResult', 'result of the rest');
  });

  it.each([
    [{ action: 'start' }, 'needs "prompt"'],
    [{ action: 'start', prompt: 'x', name: 'Not A Name' }, 'is no name of a job'],
    [{ action: 'start', prompt: 'x', profile: 'nobody' }, 'there is no profile "nobody"'],
    [{ action: 'output', job: 'nothing' }, 'nothing'],
    [{ action: 'steer', job: '../../x', text: 'y' }, 'is no name of a job'],
  ])('J12: %j is refused in words, and nothing is started', PATIENT, async (parameters, words) => {
    const scene = await commandScene();
    calls(scene, 'try it', 'multi_agent', parameters);
    const { client, message } = await openPi(scene);
    await client.prompt('try it').outcome;
    const refused = await message('toolResult', words);
    expect(refused.isError).toBe(true);
    const jobs = join(scene.jobDirectory('x'), '..');
    expect(existsSync(jobs) ? readdirSync(jobs) : []).toEqual([]);
  });
});
