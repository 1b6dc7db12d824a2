/** A run as its user starts and watches it, with real pi (R4, R8). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../../setup/look.ts';
import { runScene } from './scene.ts';

const PATIENT = { timeout: 60_000 };
const TAKES_PLAN = 'build by: ${steps.plan.output}';
const PLAN_AND_BUILD = [
  { id: 'plan', prompt: 'plan it' },
  { id: 'build', prompt: TAKES_PLAN, needs: ['plan'] },
];

describe('a run from its start to its removal', () => {
  it('R4: start --wait runs the graph and says how each step ended', PATIENT, async () => {
    const { model, graph, runsJson, runs } = await runScene();
    model.say('plan it', 'the plan');
    model.say('build by: the plan', 'the build');
    const answer = await runsJson('start', graph(PLAN_AND_BUILD), '--wait');
    expect(answer).toMatchObject({
      ok: true,
      status: 'succeeded',
      ownerClass: 'this-session',
      steps: [
        { id: 'plan', status: 'succeeded' },
        { id: 'build', status: 'succeeded', needs: ['plan'] },
      ],
    });
    const id = String(answer.runId);
    expect(await runs('step-result', id, 'build')).toMatchObject({ code: 0, stdout: 'the build\n' });
    expect((await runs('step-result', id, 'constructor')).stderr).toContain('has no step "constructor"');
    expect((await runs('list')).stdout).toMatch(new RegExp(`^${id} +succeeded +2/2 +this-session `, 'm'));
    expect((await runs('events', id, '--after', '5')).stdout).toMatch(
      /^6 .* step build succeeded\n7 .* run succeeded\n$/,
    );
    expect((await runs('show', id)).stdout).toMatch(/^✓ {2}plan {3}succeeded .*\n✓ {2}build {2}succeeded /m);
    expect(await runsJson('reattach', id)).toMatchObject({
      ok: true,
      manifest: { runId: id },
      status: { status: 'succeeded' },
      worktrees: [],
      mirroredArtifacts: [
        expect.stringMatching(/\/artifacts\/build\.output\.md$/),
        expect.stringMatching(/\/artifacts\/plan\.output\.md$/),
      ],
    });
    expect(await runsJson('cleanup', id)).toMatchObject({ ok: true, removed: true });
    expect(await runsJson('list')).toEqual({ ok: true, runs: [], next: null, scheduledRuns: [] });
  });

  it('R3, J8: a step that waits for a slot of the jobs is shown as queued', PATIENT, async () => {
    const { env, model, startRun, runs } = await runScene();
    env.MULTI_AGENT_MAX_RUNNING = '1';
    model.callBash('take long', 'sleep 30', 'never');
    const id = await startRun(['one', 'two'].map((step) => ({ id: step, prompt: 'take long' })));
    let shown = '';
    await eventually('one to wait', async () => {
      shown = (await runs('show', id)).stdout;
      return shown.includes('● ') && shown.includes('◌ ');
    });
    expect(shown).toMatch(/^◌ +(one|two) +queued /m);
    expect((await runs('status', id)).stdout).toMatch(/^(one|two) +queued /m);
    expect(await runs('cancel', id)).toMatchObject({ code: 0 });
    expect(await runs('wait', id)).toMatchObject({ code: 1, stdout: `${id} canceled\n` });
  });

  it('R4: start prints an id at once, and the commands that lead on', PATIENT, async () => {
    const { model, graph, runs } = await runScene();
    model.say('do it', 'done');
    const { code, stdout } = await runs('start', graph([{ id: 'one', prompt: 'do it' }]));
    const [, id = ''] = /^run: (\S+)$/m.exec(stdout) ?? [];
    expect(code).toBe(0);
    expect(stdout).toContain(`show_cmd: multi-agent runs show ${id} --follow`);
    expect(await runs('wait', id.slice(0, 15))).toMatchObject({ code: 0, stdout: `${id} succeeded\n` });
  });

  it('R4: the exit code of wait says how the run ended', PATIENT, async () => {
    const { model, startRun, runs, project } = await runScene();
    model.fail('fail now', 400, 'no');
    const bad = await startRun([{ id: 'bad', prompt: 'fail now' }]);
    expect(await runs('wait', bad)).toMatchObject({ code: 1, stdout: `${bad} failed\n` });
    model.callBash('be slow', 'until [ -e go ]; do sleep 0.05; done', 'done');
    const slow = await startRun([{ id: 'slow', prompt: 'be slow' }]);
    expect(await runs('wait', slow, '--timeout', '200ms')).toMatchObject({ code: 3 });
    writeFileSync(join(project, 'go'), '');
    expect(await runs('wait', slow)).toMatchObject({ code: 0 });
  });

  it('R3: nothing is started of a graph that cannot be run, and all of it is said', async () => {
    const { graph, runs, runsJson } = await runScene();
    const path = graph([
      { id: 'a', prompt: 'x', needs: ['b'] },
      { id: 'b', prompt: 'y', needs: ['a'] },
      { id: 'c', prompt: 'z', needs: ['b'] },
    ]);
    expect(await runsJson('start', path)).toMatchObject({
      ok: false,
      error: { code: 'invalid-graph', details: { objections: [expect.any(String), expect.any(String)] } },
    });
    const { code, stderr } = await runs('validate', path);
    expect([code, stderr.split('\n').length]).toEqual([2, 3]);
    expect(stderr).toContain('in a circle: a -> b -> a');
    expect(await runsJson('list')).toMatchObject({ runs: [] });
  });

  it('R4: a graph may be YAML on standard input, and is told where that is wrong', async () => {
    const { callWith } = await runScene();
    const good = 'objective: x\nsteps:\n  - {id: a, prompt: hello}\n';
    expect(await callWith({ input: good }, 'runs', 'validate')).toMatchObject({ code: 0 });
    const bad = await callWith({ input: 'objective: [\nsteps: 1\n' }, 'runs', 'validate', '-');
    expect([bad.code, bad.stderr]).toEqual([2, expect.stringContaining('at line 2')]);
  });

  it(
    'R8: events --follow says what happens until the end, beyond the death of the owner',
    PATIENT,
    async () => {
      const { model, startRun, spawn, runs, runsJson, killOwner, project, place } = await runScene();
      model.callBash('be slow', 'until [ -e go ]; do sleep 0.05; done', 'done');
      const id = await startRun([{ id: 'slow', prompt: 'be slow' }]);
      const following = spawn(['runs', 'events', id, '--follow', '--json']);
      const lines: { type: string; seq: number; status?: string }[] = [];
      let read = '';
      following.stdout?.on('data', (chunk: Buffer) => {
        read += chunk.toString();
      });
      let notes = '';
      const said = new Promise<void>((settle) =>
        following.stderr?.on('data', (chunk: Buffer) => {
          notes += chunk.toString();
          if (notes.includes('nobody owns the run')) settle();
        }),
      );
      const ended = new Promise((settle) => following.once('close', settle));
      await killOwner(join(place.root, id));
      await said;
      expect(await runs('wait', id)).toMatchObject({ code: 1, stderr: expect.stringContaining('no owner') });
      expect(await runsJson('take-ownership', id, '--continue')).toMatchObject({ ok: true, continued: true });
      writeFileSync(join(project, 'go'), '');
      expect(await ended).toBe(0);
      for (const line of read.trim().split('\n')) lines.push(JSON.parse(line));
      expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_, index) => index + 1));
      expect(lines.at(-1)).toMatchObject({ type: 'run', status: 'succeeded' });
      expect(lines.filter(({ type, status }) => type === 'step' && status === 'succeeded')).toHaveLength(1);
      expect(lines.map(({ type }) => type)).toContain('owner');
    },
  );

  it('R8: show --follow --json is an object at every change', PATIENT, async () => {
    const { model, graph, call } = await runScene();
    model.say('do it', 'done');
    const path = graph([{ id: 'one', prompt: 'do it' }]);
    const { code, stdout } = await call('runs', 'start', path, '--follow', '--json');
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(code).toBe(0);
    expect(lines[0]).toMatchObject({ ok: true, steps: 1 });
    expect(lines.at(-1)).toMatchObject({ ok: true, status: 'succeeded', steps: [{ status: 'succeeded' }] });
  });
});
