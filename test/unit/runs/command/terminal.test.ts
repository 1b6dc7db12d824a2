/** `runs show --follow` on a real terminal (R8). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { terminal } from '../../../setup/terminal.ts';
import { runScene } from './scene.ts';

const PATIENT = { timeout: 60_000 };

it('R8: the graph is drawn again in place, in colours, until the run has ended', PATIENT, async () => {
  const { model, startRun, env, project, top } = await runScene();
  model.callBash('be slow', 'until [ -e go ]; do sleep 0.05; done', 'done');
  model.say('go on', 'gone on');
  const steps = [
    { id: 'slow', prompt: 'be slow' },
    { id: 'next', prompt: 'go on', needs: ['slow'] },
  ];
  const id = await startRun(steps);
  const shown = terminal(join(top, 'bin/multi-agent'), ['runs', 'show', id, '--follow'], {
    env: { ...env, TERM: 'xterm-256color', PWD: project },
    cwd: project,
  });
  onTestFinished(() => shown.kill('SIGKILL'));
  await shown.shows(/● {2}slow {2}running/);
  await shown.shows(/○ {2}next {2}pending .*waits for slow/);
  writeFileSync(join(project, 'go'), '');
  expect(await shown.exited()).toBe(0);
  const screen = await shown.shows(/✓ {2}next {2}succeeded/);
  expect(screen.match(/next/g)).toHaveLength(1);
  expect(screen).toContain('2 of 2 steps');
  expect(shown.bytes().toString()).toContain('\u001b[32m✓\u001b[0m');
});

it('R8: NO_COLOR draws without colours', PATIENT, async () => {
  const { model, startRun, env, project, top, runs } = await runScene();
  model.say('do it', 'done');
  const id = await startRun([{ id: 'one', prompt: 'do it' }]);
  await runs('wait', id);
  const shown = terminal(join(top, 'bin/multi-agent'), ['runs', 'show', id], {
    env: { ...env, TERM: 'xterm-256color', PWD: project, NO_COLOR: '1' },
    cwd: project,
  });
  onTestFinished(() => shown.kill('SIGKILL'));
  await shown.shows(/✓ {2}one {2}succeeded/);
  expect(shown.bytes().toString()).not.toContain('\u001b[32m');
});
