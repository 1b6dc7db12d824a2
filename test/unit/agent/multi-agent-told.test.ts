/** Ends of jobs are told once, whatever happens to the pi that tells them (J12). */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { textOfMessage } from '../../../src/pi/index.ts';
import { type CommandScene, commandScene } from '../jobs/command/scene.ts';
import { calls, jobsExtension, type OpenPi, openPi } from './jobs-scene.ts';

const PATIENT = { timeout: 60_000 };

function notifiedAt(scene: CommandScene, name: string): unknown {
  return JSON.parse(readFileSync(join(scene.jobDirectory(name), 'job.json'), 'utf8')).notifiedAt;
}

/** A pi whose tool runs while the end of its job "late" waits in its queue. */
async function piWithAWaitingEnd(scene: CommandScene): Promise<OpenPi> {
  calls(scene, 'begin late', 'multi_agent', { action: 'start', name: 'late', prompt: 'task of late' });
  scene.model.callBash('task of late', 'until [ -e go ]; do sleep 0.05; done', 'result of late');
  scene.model.callBash('work for a while', 'touch go; sleep 30', 'worked');
  scene.model.say('Job "late": done', 'read it');
  const opened = await openPi(scene);
  await opened.client.prompt('begin late').outcome;
  opened.client.prompt('work for a while').outcome.catch(() => undefined);
  await vi.waitFor(() => expect(existsSync(join(scene.project, 'go'))).toBe(true), 20_000);
  expect(await scene.call('wait', 'late')).toMatchObject({ code: 0 });
  await sleep(1_000);
  return opened;
}

describe('the end of a job', () => {
  it.each(['killed', 'aborted'] as const)(
    'J12: told into a turn that is %s is told when the Session is opened again',
    PATIENT,
    async (how) => {
      const scene = await commandScene();
      const { client, pid, messages } = await piWithAWaitingEnd(scene);
      if (how === 'killed') process.kill(pid, 'SIGKILL');
      else await client.abort();
      await client.stop();
      expect(messages.map(textOfMessage).join('\n')).not.toContain('Job "late": done');
      expect(notifiedAt(scene, 'late')).toBeNull();
      const again = await openPi(scene);
      await again.message('custom', 'result of late');
      await again.message('assistant', 'read it');
      await vi.waitFor(() => expect(notifiedAt(scene, 'late')).not.toBeNull(), 5_000);
    },
  );

  it('J12: is told also of a run that a shell of the Session has resumed', PATIENT, async () => {
    const scene = await commandScene();
    calls(scene, 'begin one', 'multi_agent', { action: 'start', name: 'one', prompt: 'task of one' });
    scene.model.say('task of one', 'result of one');
    scene.model.say('Job "one": done', 'read it');
    scene.model.callBash('use the shell', 'multi-agent resume one "more of one"', 'resumed');
    scene.model.say('more of one', 'more results');
    const { client, message } = await openPi(scene);
    await client.prompt('begin one').outcome;
    await message('custom', 'result of one');
    await message('assistant', 'read it');
    await client.prompt('use the shell').outcome;
    await message('custom', 'more results');
  });

  it(
    'J12: reaches an agent that is a job itself with its next prompt, and no turn before',
    PATIENT,
    async () => {
      const scene = await commandScene();
      calls(scene, 'task of parent', 'multi_agent', {
        action: 'start',
        name: 'child',
        prompt: 'task of child',
      });
      scene.model.callBash('task of child', 'until [ -e go ]; do sleep 0.05; done', 'result of child');
      scene.model.say('go on', 'went on');
      const words = ['start', '--name', 'parent', '--wait', 'task of parent', '--', '-e', jobsExtension()];
      expect(await scene.call(...words)).toMatchObject({ code: 0, stdout: 'noted\n' });
      writeFileSync(join(scene.project, 'go'), '');
      expect(await scene.call('wait', 'child')).toMatchObject({ code: 0 });
      const { conversation } = await scene.json('status', 'parent');
      const opened = await openPi(scene, String(conversation).replace(/\.jsonl$/, ''), {
        MULTI_AGENT_JOB: scene.jobDirectory('parent'),
      });
      await opened.message('custom', 'result of child');
      await sleep(1_000);
      expect(opened.messages.filter(({ role }) => role === 'assistant')).toEqual([]);
      await opened.client.prompt('go on').outcome;
      expect(opened.messages.filter(({ role }) => role === 'custom')).toHaveLength(1);
      await vi.waitFor(() => expect(notifiedAt(scene, 'child')).not.toBeNull(), 5_000);
    },
  );
});
