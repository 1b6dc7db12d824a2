/** Schedules in a sandbox of a real engine: fired while it lives, with nothing keeping it up that should not (R10, S14). */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { type ModelServer, modelServer } from '../setup/model-server.ts';

let here: Installation;
let model: ModelServer;

beforeAll(async () => {
  [here, model] = await Promise.all([installation(), modelServer()]);
  here.configure('config/models.json', model.models);
  here.configure('config/settings.json', model.settings);
});

afterAll(async () => {
  await here.cleanup();
  await model.stop();
  expect(await here.leftovers()).toEqual([]);
});

const GRAPH = JSON.stringify({ objective: 'say it', steps: [{ id: 'one', prompt: 'say hello' }] });

it('R10: a schedule fires in a sandbox, and after a stop and a start again', async () => {
  const project = here.project();
  model.say('say hello', 'Hello.');
  const shell = (script: string) => here.run(['shell', project, '--', 'sh', '-c', script]);
  const add = `multi-agent runs schedule add "* * * * *" --tz UTC --name often - <<'G'\n${GRAPH}\nG\n`;
  expect(await shell(add)).toMatchObject({ exitCode: 0, stderr: '' });
  const watching =
    'for n in $(seq 50); do ps -eo args | grep -q "[m]ulti-agent-scheduler.mjs" && break; sleep 0.2; done';
  expect(await shell(`${watching}; ps -eo args | grep -c "[m]ulti-agent-scheduler.mjs"`)).toMatchObject({
    stdout: '1\n',
  });
  const status = await here.run(['inspect', project]);
  expect(status.stdout).not.toContain('multi-agent-scheduler');
  await here.run(['stop', project]);
  // A start begins it again, five seconds later.
  const count = `multi-agent runs list --json | grep -c '"status": "succeeded"'`;
  const more = `before=$(${count}); for n in $(seq 95); do [ "$(${count})" -gt "$before" ] && echo more && break; sleep 1; done`;
  expect((await shell(more)).stdout).toBe('more\n');
  const { stdout } = await shell('multi-agent runs schedule list --json');
  expect(stdout).toMatch(/"what": "(started|skipped)"/);
  expect(await shell('multi-agent runs schedule rm often')).toMatchObject({ exitCode: 0 });
}, 400_000);
