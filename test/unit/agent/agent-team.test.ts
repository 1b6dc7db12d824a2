/** The tool `agent_team` in a real pi that runs real graphs of jobs (R4). */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type PiMessage, textOfMessage } from '../../../src/pi/index.ts';
import { until } from '../../setup/pi.ts';
import { type CommandScene, commandScene } from '../jobs/command/scene.ts';
import { calls, type OpenPi, openPi } from './jobs-scene.ts';

const PATIENT = { timeout: 90_000 };
const TOOL = 'agent_team';

const TWO_STEPS = {
  objective: 'say it twice',
  steps: [
    { id: 'first', prompt: 'task of first' },
    { id: 'second', prompt: 'task of second, after ${steps.first.output}', needs: ['first'] },
  ],
};

/** One call of the tool in a turn of its own; the document that it answered with. */
async function ask(scene: CommandScene, pi: OpenPi, prompt: string, parameters: object): Promise<Answer> {
  calls(scene, prompt, TOOL, parameters);
  const before = pi.messages.length;
  await pi.client.prompt(prompt).outcome;
  const result = pi.messages.slice(before).find(({ role }) => role === 'toolResult');
  if (result === undefined) throw new Error(`no result of ${prompt}`);
  return { result, document: JSON.parse(textOfMessage(result)) };
}

interface Answer {
  readonly result: PiMessage;
  readonly document: Record<string, unknown>;
}

/** How often the Session's file tells an end. */
function tellings(scene: CommandScene, session = 'one'): number {
  const lines = readFileSync(join(scene.top, `${session}.jsonl`), 'utf8').split('\n');
  return lines.filter((line) => line.includes('"custom_message"') && line.includes('Run r')).length;
}

describe('the tool agent_team', () => {
  it(
    'R4: starts a graph, and the Session is told of its end once, in a turn of its own',
    PATIENT,
    async () => {
      const scene = await commandScene();
      scene.model.callBash('task of first', 'until [ -e go ]; do sleep 0.05; done', 'result of first');
      scene.model.say('task of second', 'result of second');
      scene.model.say('Run r1', 'read it');
      const pi = await openPi(scene);
      const started = await ask(scene, pi, 'begin it', { action: 'start', graph: TWO_STEPS });
      expect(started.document).toMatchObject({ ok: true, alias: 'r1', steps: 2 });
      const running = await ask(scene, pi, 'how is it', { action: 'status', run: 'r1' });
      expect(running.document).toMatchObject({ ok: true, ownerClass: 'this-session', terminal: false });
      writeFileSync(join(scene.project, 'go'), '');
      await pi.message('custom', 'succeeded, after');
      await pi.message('assistant', 'read it');
      const result = await ask(scene, pi, 'what came of it', {
        action: 'step-result',
        run: 'r1',
        step: 'second',
      });
      expect(result.document).toMatchObject({ ok: true, output: 'result of second', next: null });
      await pi.client.stop();
      expect(tellings(scene)).toBe(1);
    },
  );

  it('R4: what a wait has told is not told again, and what its jobs used counts once', PATIENT, async () => {
    const scene = await commandScene();
    scene.model.say('task of first', 'result of first');
    scene.model.say('task of second', 'result of second');
    const pi = await openPi(scene);
    const graph = JSON.stringify(TWO_STEPS);
    await ask(scene, pi, 'begin it', { action: 'start', graph });
    const waited = await ask(scene, pi, 'wait for it', { action: 'wait', run: 'r1' });
    expect(waited.document).toMatchObject({ ok: true, alias: 'r1', status: 'succeeded', timedOut: false });
    expect(waited.result.usage?.input).toBeGreaterThan(0);
    const again = await ask(scene, pi, 'look once more', { action: 'show', run: 'r1' });
    expect(again.result.usage).toBeUndefined();
    await pi.client.stop();
    expect(tellings(scene)).toBe(0);
  });

  it('R2, R4: aliases are the Session’s own and outlive its pi; others use ids', PATIENT, async () => {
    const scene = await commandScene();
    scene.model.callBash('task of', 'sleep 60', 'never');
    const first = await openPi(scene);
    const started = await ask(scene, first, 'begin it', { action: 'start', graph: TWO_STEPS });
    const runId = String(started.document.runId);
    await first.client.stop();
    const second = await openPi(scene);
    const seen = await ask(scene, second, 'which is it', { action: 'status', run: 'r1' });
    expect(seen.document).toMatchObject({ ok: true, runId });
    await second.client.stop();
    const other = await openPi(scene, 'two');
    const unknown = await ask(scene, other, 'which is mine', { action: 'status', run: 'r1' });
    expect(unknown).toMatchObject({
      result: { isError: true },
      document: { ok: false, error: { code: 'not-found' } },
    });
    const foreign = await ask(scene, other, 'stop theirs', { action: 'cancel', run: runId });
    expect(foreign.document).toMatchObject({ ok: false, error: { code: 'owned-by-other' } });
    await other.client.stop();
    const third = await openPi(scene);
    const canceled = await ask(scene, third, 'stop mine', { action: 'cancel', run: 'r1' });
    expect(canceled.document).toMatchObject({ ok: true, runId });
    const ended = await ask(scene, third, 'wait for it', { action: 'wait', run: 'r1' });
    expect(ended.document).toMatchObject({ status: 'canceled' });
    const cleaned = await ask(scene, third, 'away with it', { action: 'cleanup', run: 'r1' });
    expect(cleaned.document).toMatchObject({ ok: true, removed: true });
  });

  it(
    'R4: a run that ended while the Session was closed is told when it is opened again',
    PATIENT,
    async () => {
      const scene = await commandScene();
      scene.model.callBash('task of first', 'sleep 1', 'result of first');
      scene.model.say('task of second', 'result of second');
      scene.model.say('Run r1', 'read it');
      const first = await openPi(scene);
      const { document } = await ask(scene, first, 'begin it', { action: 'start', graph: TWO_STEPS });
      await first.client.stop();
      const status = join(scene.env.XDG_STATE_HOME ?? '', 'pi-multiagent/runs', String(document.runId));
      await until('its end', () =>
        readFileSync(join(status, 'status.json'), 'utf8').includes('"terminal": true'),
      );
      const second = await openPi(scene);
      await second.message('custom', 'succeeded, after');
      await second.message('assistant', 'read it');
      await second.client.stop();
      expect(tellings(scene)).toBe(1);
    },
  );

  it('R4: a run that a shell of the Session has started is told as well', PATIENT, async () => {
    const scene = await commandScene();
    writeFileSync(join(scene.project, 'graph.json'), JSON.stringify(TWO_STEPS));
    scene.model.callBash('use the shell', 'multi-agent runs start graph.json', 'started');
    scene.model.say('task of first', 'result of first');
    scene.model.say('task of second', 'result of second');
    scene.model.say('succeeded, after', 'read it');
    const pi = await openPi(scene);
    await pi.client.prompt('use the shell').outcome;
    await pi.message('custom', 'succeeded, after');
    await pi.message('assistant', 'read it');
  });

  it(
    'R4: a graph from a file, as YAML text or as an object is checked, and nothing is started',
    PATIENT,
    async () => {
      const scene = await commandScene();
      const yaml = 'objective: try\nsteps:\n  - id: one\n    prompt: do it\n';
      writeFileSync(join(scene.project, 'graph.yaml'), yaml);
      const pi = await openPi(scene);
      const validate = (prompt: string, graph: unknown) =>
        ask(scene, pi, prompt, { action: 'validate', graph });
      const good = { ok: true, objective: 'try', steps: [{ id: 'one' }] };
      expect((await validate('the file', 'graph.yaml')).document).toMatchObject(good);
      expect((await validate('the text', yaml)).document).toMatchObject(good);
      const circle = { objective: 'try', steps: [{ id: 'a', prompt: 'x', needs: ['a'] }] };
      expect((await validate('the circle', circle)).document).toMatchObject({
        ok: false,
        error: { code: 'invalid-graph', details: { objections: [expect.stringContaining('a -> a')] } },
      });
      const listed = await ask(scene, pi, 'what runs', { action: 'list' });
      expect(listed.document).toMatchObject({ ok: true, runs: [] });
    },
  );

  it('R4: an answer is as long as it may be, and says how to read the rest', PATIENT, async () => {
    const scene = await commandScene();
    scene.model.say('task of long', 'x'.repeat(70_000));
    const pi = await openPi(scene);
    const graph = { objective: 'much', steps: [{ id: 'long', prompt: 'task of long' }] };
    await ask(scene, pi, 'begin it', { action: 'start', graph });
    await ask(scene, pi, 'wait for it', { action: 'wait', run: 'r1' });
    const part = await ask(scene, pi, 'read it', { action: 'step-result', run: 'r1', step: 'long' });
    expect(textOfMessage(part.result).length).toBeLessThanOrEqual(40_000);
    expect(part.document).toMatchObject({ characters: 70_000, next: 30_000 });
    const rest = await ask(scene, pi, 'read on', {
      action: 'step-result',
      run: 'r1',
      step: 'long',
      from: 60_000,
    });
    expect(rest.document).toMatchObject({ output: 'x'.repeat(10_000), next: null });
    const large = { objective: 'much', steps: [{ id: 'one', prompt: '"'.repeat(30_000) }] };
    const cut = await ask(scene, pi, 'check it', { action: 'validate', graph: large });
    expect(textOfMessage(cut.result).length).toBeLessThanOrEqual(40_000);
    expect(cut.document).toMatchObject({ ok: true, cut: true, all: 'multi-agent runs validate' });
  });

  it('R10: keeps a graph to be started by the clock, lists it and lets it go', PATIENT, async () => {
    const scene = await commandScene();
    const pi = await openPi(scene);
    const schedule = (prompt: string, more: object) =>
      ask(scene, pi, prompt, { action: 'schedule', ...more });
    const timing = { cron: '30 2 * * *', tz: 'Europe/Berlin' };
    const added = await schedule('every night', {
      schedule: 'add',
      name: 'nightly',
      graph: TWO_STEPS,
      ...timing,
    });
    expect(added.document).toMatchObject({ ok: true, schedule: { scheduleId: 'nightly', ...timing } });
    const listed = await schedule('which are there', { schedule: 'list' });
    expect(listed.document).toMatchObject({ schedules: [{ scheduleId: 'nightly', steps: 2 }] });
    const removed = await schedule('not any more', { schedule: 'rm', name: 'nightly' });
    expect(removed.document).toMatchObject({ ok: true, scheduleId: 'nightly' });
    const wrong = await schedule('what if', { schedule: 'next', cron: '61 * * * *', tz: 'Europe/Berlin' });
    expect(wrong.document).toMatchObject({ ok: false, error: { code: 'usage' } });
  });

  it('R6: an orphan is the model’s to take and to finish', PATIENT, async () => {
    const scene = await commandScene();
    scene.model.callBash('task of first', 'until [ -e go ]; do sleep 0.05; done', 'result of first');
    scene.model.say('task of second', 'result of second');
    scene.model.say('Run r1', 'read it');
    const pi = await openPi(scene);
    const { document } = await ask(scene, pi, 'begin it', { action: 'start', graph: TWO_STEPS });
    const run = join(scene.env.XDG_STATE_HOME ?? '', 'pi-multiagent/runs', String(document.runId));
    const owner = () => JSON.parse(readFileSync(join(run, 'manifest.json'), 'utf8')).ownerPid;
    // Until it runs, that is who has started it.
    await until('its owner', () => owner() !== pi.pid);
    process.kill(owner(), 'SIGKILL');
    await pi.message('custom', 'has no owner any more');
    await pi.message('assistant', 'read it');
    const taken = await ask(scene, pi, 'take it up', {
      action: 'take-ownership',
      run: 'r1',
      continue: true,
    });
    expect(taken.document).toMatchObject({ ok: true, alias: 'r1', continued: true });
    writeFileSync(join(scene.project, 'go'), '');
    await pi.message('custom', 'succeeded, after');
  });
});
