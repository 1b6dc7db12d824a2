import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { type ModelServer, modelServer } from '../setup/model-server.ts';

/** One sandbox serves the whole file: what differs between these starts is pi's own arguments. */
let here: Installation;
let model: ModelServer;
let project: string;

beforeAll(async () => {
  [here, model] = await Promise.all([installation(), modelServer()]);
  here.configure('config/models.json', model.models);
  here.configure('config/settings.json', model.settings);
  project = here.project();
});

afterAll(async () => {
  await here.cleanup();
  await model.stop();
});

describe('S14: a start without a terminal runs pi and ends with it', () => {
  it('S14: cold, with the demo model: the answer on stdout and nothing else', async () => {
    const result = await here.run(['start', '--demo', project, '--', '-p', 'run echo hello from inside']);
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    expect(result.stdout).toContain('hello from inside');
  });
});
