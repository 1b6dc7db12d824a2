/** Jobs on a real engine: in sandboxes, with the launcher's pi and the Session lock (J1, J2, J4, J6, J11, rule 4). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { type ModelServer, modelServer } from '../setup/model-server.ts';

describe('jobs in a sandbox', () => {
  let here: Installation;
  let model: ModelServer;

  beforeAll(async () => {
    [here, model] = await Promise.all([installation(), modelServer()]);
    here.configure('.env', 'DOMAINS=work,other\nDEFAULT_DOMAIN=work\n');
    here.configure('config/models.json', model.models);
    here.configure('config/settings.json', model.settings);
  });

  afterAll(async () => {
    await here.cleanup();
    await model.stop();
    expect(await here.leftovers()).toEqual([]);
  });

  const shell = (project: string, script: string, options: readonly string[] = []) =>
    here.run(['shell', ...options, project, '--', 'sh', '-c', script]);

  it('J6: a job runs with the sandbox’s pi, and goes on when the shell that started it has ended', async () => {
    const project = here.project();
    model.say('be quick', 'Quick.');
    model.callBash('take a while', 'sleep 3; echo "$MULTI_AGENT_JOB"', 'Took a while.');
    expect(await shell(project, 'multi-agent run --profile scout be quick 2>/dev/null')).toMatchObject({
      exitCode: 0,
      stdout: 'Quick.\n',
    });
    await shell(project, 'multi-agent start --name slow take a while');
    expect((await shell(project, 'multi-agent wait slow --timeout 1m')).stdout).toBe('slow done\n');
    const { stdout } = await shell(project, 'multi-agent status slow --json; multi-agent list --json');
    expect(stdout).toContain(`"project": "${project}"`);
    expect(stdout).toContain('"directory": "/home/pi/.pi/domain/state/pi-multi-agent/');
    expect((await shell(project, 'cd /; multi-agent output slow')).stdout).toBe('Took a while.\n');
  });

  it('J2, J11: a stop ends a job, and its next run goes on in the same conversation', async () => {
    const project = here.project();
    model.callBash('never end', 'sleep 300', 'never');
    model.say('go on', 'Went on.');
    await shell(
      project,
      'multi-agent start --name one never end; for n in $(seq 100); do multi-agent peek one | grep -q "tool bash" && break; sleep 0.2; done',
    );
    await here.run(['stop', project]);
    // Killed by its runner where that had the time, else found dead.
    const after = await shell(project, 'multi-agent wait one; multi-agent resume one go on --wait');
    expect(after).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^one (?:killed|died)\nWent on\.\n$/),
    });
    expect(JSON.stringify(model.requests().at(-1))).toContain('never end');
  });

  it('R4: the host starts, lists and shows the runs of a project with the words of multi-agent runs', async () => {
    const project = here.project();
    model.say('first step', 'First.');
    model.say('second step', 'Second.');
    writeFileSync(
      join(project, 'graph.yaml'),
      'objective: two steps\nsteps:\n  - {id: one, prompt: first step}\n  - {id: two, prompt: second step, needs: [one]}\n',
    );
    const started = await here.run(['runs', project, 'start', 'graph.yaml']);
    const [, id = ''] = /^run: (\S+)$/m.exec(started.stdout) ?? [];
    expect(started.stdout).toContain(`show_cmd: pi-sandbox runs ${project} show ${id} --follow\n`);
    expect(await here.run(['runs', project, 'wait', id])).toMatchObject({ exitCode: 0 });
    const { stdout } = await here.run(['runs', project, 'list', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      runs: [{ runId: id, ownerClass: 'this-session', status: 'succeeded', stepsDone: 2, project }],
    });
    const shown = await here.run(['runs', project, 'show', id]);
    expect(shown.stdout).toMatch(/^✓ {2}two {2}succeeded/m);
    const refused = await here.run(['runs', project, 'cancel', id]);
    expect(refused.stderr).toContain(`pi-sandbox runs ${project} show ${id} shows how`);
    const elsewhere = await here.run([
      'runs',
      '--domain',
      'other',
      project,
      'list',
      '--all-projects',
      '--json',
    ]);
    expect(JSON.parse(elsewhere.stdout)).toMatchObject({ runs: [] });
  });

  it('rule 4: no job of a domain is seen in another', async () => {
    const project = here.project();
    model.say('secret plan', 'Done.');
    await shell(project, 'multi-agent run --name secret secret plan');
    const script = 'multi-agent list --all-projects --json';
    const { stdout } = await shell(project, script, ['--domain', 'other']);
    expect(JSON.parse(stdout)).toMatchObject({ jobs: [], broken: [] });
    expect((await shell(project, script)).stdout).toContain('"name": "secret"');
  });
});
