/** What becomes of background agents when their sandbox, their runner or their pi is cut off. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { eventually, processesOf, sandboxes, sandboxOf } from '../setup/look.ts';
import { type ModelServer, modelServer } from '../setup/model-server.ts';

const LONG = { timeout: 240_000 };

let here: Installation;
let model: ModelServer;

beforeAll(async () => {
  here = await installation();
  model = await modelServer();
  here.configure('config/models.json', model.models);
  here.configure('config/settings.json', model.settings);
  model.callBash('work until you are cut', 'echo begun; sleep 4711', 'I was not cut.');
  model.say('go on after it', 'I have gone on.');
});

afterAll(async () => {
  await here.cleanup();
  await model.stop();
  expect(await here.leftovers()).toEqual([]);
});

async function listed(project: string): Promise<Record<string, string>> {
  const { stdout, stderr, exitCode } = await here.run(['jobs', project, 'list', '--json']);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  const { jobs } = JSON.parse(stdout);
  return Object.fromEntries(jobs.map(({ name, status }: Record<string, string>) => [name, status]));
}

it.each([
  [
    'is stopped',
    // Runners that are asked in time say so.
    [/^(?:killed|died)$/, /^(?:killed|died)$/],
    async (project: string) => void (await here.run(['stop', project])),
  ],
  [
    'is killed',
    [/^died$/, /^died$/],
    async (project: string) => {
      await here.engine.command(['kill', await sandboxOf(here, project)]);
      await eventually('its end', async () => (await sandboxes(here, project)).length === 0, 40_000);
    },
  ],
  [
    'loses a runner and a pi',
    [/^died$/, /^failed$/],
    async (project: string) => {
      // pi by what stands in its environment: its tools are younger.
      const kill =
        'pkill -KILL -f "[m]ulti-agent-runner.*cut-one" && set -- $(pgrep -x pi || pgrep -f "[-]-mode rpc") && ' +
        'for pid; do grep -qz "^MULTI_AGENT_JOB=.*/cut-two$" /proc/$pid/environ && kill -KILL $pid; done; exit 0';
      const killed = await here.run(['shell', project, '--', 'sh', '-c', kill]);
      expect(killed).toMatchObject({ exitCode: 0, stderr: '' });
      await eventually('both ends', async () => !JSON.stringify(await listed(project)).includes('running'));
    },
  ],
])('J11: when a sandbox %s, its jobs are told as they ended, and go on', LONG, async (_what, ends, fault) => {
  const project = here.project();
  for (const name of ['cut-one', 'cut-two']) {
    const started = await here.run(['jobs', project, 'start', '--name', name, 'work until you are cut']);
    expect(started).toMatchObject({ exitCode: 0 });
  }
  for (const name of ['cut-one', 'cut-two']) {
    await eventually(`${name} works`, async () => {
      const { stdout } = await here.run(['jobs', project, 'peek', name]);
      return stdout.includes('tool bash');
    });
  }
  await fault(project);
  const [one, two] = ends.map((end) => expect.stringMatching(end));
  expect(await listed(project)).toEqual({ 'cut-one': one, 'cut-two': two });
  for (const name of ['cut-one', 'cut-two']) {
    const { stdout } = await here.run(['jobs', project, 'peek', name]);
    expect(stdout).toContain('tool bash');
    const resumed = await here.run(['jobs', project, 'resume', name, 'go on after it', '--wait']);
    expect(resumed).toMatchObject({ exitCode: 0, stdout: 'I have gone on.\n' });
  }
  expect(await listed(project)).toEqual({ 'cut-one': 'done', 'cut-two': 'done' });
  const processes = (await processesOf(here, await sandboxOf(here, project))).join('\n');
  expect(processes).not.toMatch(/sleep 4711|multi-agent-runner|--mode rpc/);
});
