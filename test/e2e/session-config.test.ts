import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { type ModelServer, modelServer } from '../setup/model-server.ts';
import { terminal } from '../setup/terminal.ts';

let here: Installation;
let model: ModelServer;

beforeAll(async () => {
  [here, model] = await Promise.all([installation(), modelServer()]);
  const models = JSON.parse(model.models);
  models.providers.fake.models.push({ ...models.providers.fake.models[0], id: 'fake-2' });
  models.providers.fake.models.push({ ...models.providers.fake.models[0], id: 'fake-3' });
  here.configure('config/models.json', JSON.stringify(models));
  here.configure(
    'config/settings.json',
    JSON.stringify({ ...JSON.parse(model.settings), retry: { enabled: false, maxRetries: 1 } }),
  );
  here.configure('config/AGENTS.md', 'Global words.\n');
  here.configure(
    'config/domains/default/settings.json',
    JSON.stringify({ defaultModel: 'fake-2', theme: 'dark' }),
  );
  here.configure('config/domains/default/AGENTS.md', 'Domain words.\n');
  here.configure(
    'config/skills/greet/SKILL.md',
    '---\nname: greet\ndescription: says hello\n---\nSay hello.\n',
  );
  here.configure('config/prompts/shout.md', 'SHOUT $1\n');
});

afterEach(async () => {
  await here.run(['stop', '--all']);
});

afterAll(async () => {
  await here.cleanup();
  await model.stop();
  expect(await here.leftovers()).toEqual([]);
});

/** A project with its own `.pi-sandbox/`. */
function projectWith(files: Record<string, string>): string {
  const project = here.project();
  mkdirSync(join(project, '.pi-sandbox'));
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(project, '.pi-sandbox', name), content);
  return project;
}

const shell = (project: string, script: string, options: readonly string[] = []) =>
  here.run(['shell', ...options, project, '--', 'sh', '-c', script]);
const settingsIn = async (project: string) =>
  JSON.parse((await shell(project, 'cat ~/.pi/agent/settings.json')).stdout);

describe('S8: the merged configuration', () => {
  it('S8: three levels are one file in the sandbox, the later level winning', async () => {
    const project = projectWith({ 'settings.json': JSON.stringify({ defaultModel: 'fake-3' }) });
    expect(await settingsIn(project)).toEqual({
      defaultProvider: 'fake',
      defaultModel: 'fake-3',
      theme: 'dark',
      retry: { enabled: false, maxRetries: 1 },
    });
  });

  it('S8: they reach pi: the model is the last level’s, the instructions are all three', async () => {
    const project = projectWith({
      'settings.json': JSON.stringify({ defaultModel: 'fake-3' }),
      'AGENTS.md': 'Project words.\n',
    });
    model.say('who are you', 'I am scripted.');
    const result = await here.run(['start', project, '--', '-p', 'who are you']);
    expect(result).toMatchObject({ exitCode: 0, stdout: 'I am scripted.\n', stderr: '' });
    const request = JSON.stringify(model.requests().at(-1));
    expect(request).toContain('"model":"fake-3"');
    expect(request).toMatch(/Global words[\s\S]*Domain words[\s\S]*Project words/);
    expect(request).toContain('says hello');
  });

  it('S8: a project may not set what it must not, and is told so', async () => {
    const project = projectWith({
      'settings.json': JSON.stringify({
        defaultModel: 'fake-3',
        shellCommandPrefix: 'curl evil',
        packages: ['npm:evil'],
      }),
    });
    const result = await shell(project, 'cat ~/.pi/agent/settings.json');
    expect(result.stderr).toMatch(/warning: .*shellCommandPrefix.*packages/);
    expect(result.stdout).not.toContain('evil');
    expect(result.stdout).toContain('fake-3');
  });

  it('S8: a project’s MCP server needs consent once, for exactly this content', async () => {
    const server = (word: string) =>
      JSON.stringify({ mcpServers: { mine: { command: 'echo', args: [word] } } });
    const project = projectWith({ 'mcp.json': server('one') });
    const print = 'cat ~/.pi/agent/mcp.json';
    const refused = await shell(project, print);
    expect(refused.stdout).not.toContain('mine');
    expect(refused.stderr).toMatch(/warning: .*without your consent.*echo one.*--trust-project-config/);
    const agreed = await shell(project, print, ['--trust-project-config']);
    expect(JSON.parse(agreed.stdout).mcpServers.mine).toEqual({ command: 'echo', args: ['one'] });
    const remembered = await shell(project, print);
    expect(remembered).toMatchObject({ stdout: agreed.stdout, stderr: '' });
    writeFileSync(join(project, '.pi-sandbox/mcp.json'), server('two'));
    const changed = await shell(project, print);
    expect(changed.stdout).not.toContain('two');
    expect(changed.stderr).toContain('without your consent');
  });

  it('S8: a no on the terminal is remembered too, and the flag takes its place', async () => {
    const project = projectWith({
      'mcp.json': JSON.stringify({ mcpServers: { mine: { command: 'echo', args: ['no'] } } }),
    });
    const start = () =>
      terminal(process.execPath, [here.cli, 'shell', project, '--', 'true'], {
        env: here.env,
        cwd: project,
        columns: 240,
      });
    const asking = start();
    await asking.shows('runs echo no. Allow it? [y/N]');
    asking.type('n\r');
    expect(await asking.exited()).toBe(0);
    const again = start();
    await again.shows('ignored, since you refused it: MCP server mine');
    expect(await again.exited()).toBe(0);
    const agreed = await shell(project, 'cat ~/.pi/agent/mcp.json', ['--trust-project-config']);
    expect(JSON.parse(agreed.stdout).mcpServers).toHaveProperty('mine');
  });

  it('S8: the user’s skills, prompts and the rest are there and cannot be changed by accident', async () => {
    const project = here.project();
    const result = await shell(project, 'cat ~/.pi/agent/skills/greet/SKILL.md ~/.pi/agent/prompts/shout.md');
    expect(result.stdout).toContain('Say hello.');
    expect(result.stdout).toContain('SHOUT');
    const write = await shell(
      project,
      'echo x >> ~/.pi/agent/skills/greet/SKILL.md; echo x > ~/.pi/agent/prompts/new.md',
    );
    expect(write.exitCode).not.toBe(0);
    expect(write.stderr).toMatch(/Permission denied|Read-only/);
  });

  it('S8: pi is let out to install a missing package, and not where there is none', async () => {
    const project = here.project();
    const offline = () => shell(project, 'printenv PI_OFFLINE || echo none');
    expect((await offline()).stdout).toBe('1\n');
    here.configure(
      'config/domains/default/settings.json',
      JSON.stringify({ packages: ['npm:some-package'] }),
    );
    expect((await offline()).stdout).toBe('none\n');
    await shell(project, 'mkdir -p ~/.pi/agent/npm/node_modules/some-package');
    expect((await offline()).stdout).toBe('1\n');
    here.configure(
      'config/domains/default/settings.json',
      JSON.stringify({ defaultModel: 'fake-2', theme: 'dark' }),
    );
  });

  it('S8: a join with another configuration replaces the merge and says whose Sessions keep theirs', async () => {
    const project = projectWith({ 'settings.json': JSON.stringify({ defaultModel: 'fake-1' }) });
    const running = here.start(['start', project, '--', '--mode', 'rpc']);
    running.stdin.write('{"type":"get_state","id":"1"}\n');
    await new Promise((resolve) => running.stdout.once('data', resolve));
    writeFileSync(join(project, '.pi-sandbox/settings.json'), JSON.stringify({ defaultModel: 'fake-3' }));
    const joined = await shell(project, 'cat ~/.pi/agent/settings.json');
    expect(joined.stderr).toContain('configuration has changed; 1 running session(s) keep what they read');
    expect(JSON.parse(joined.stdout).defaultModel).toBe('fake-3');
    running.stdin.end();
    await new Promise((resolve) => running.once('close', resolve));
  });

  it('S8: what a Session changed is gone with it, and the exit line names the keys', async () => {
    const project = here.project();
    const child = await here.run(['start', project, '--', '--mode', 'rpc'], {
      input: '{"type":"set_auto_compaction","enabled":false,"id":"1"}\n',
    });
    expect(child.stdout).toContain('"success":true');
    expect(child.stderr).toMatch(/changed in the sandbox and gone with it: settings\.json \(compaction\)/);
    await here.run(['stop', project]);
    expect((await settingsIn(project)).compaction).toBeUndefined();
  });

  it('S8: invalid JSON names file, line and column, and nothing starts', async () => {
    const project = projectWith({ 'settings.json': '{\n  "theme": dark\n}\n' });
    const result = await shell(project, 'true');
    expect(result.exitCode).toBe(2);
    expect(result.stderr).toMatch(/\.pi-sandbox\/settings\.json:2:\d+/);
    expect((await here.leftovers()).filter((line) => line.startsWith('container '))).toEqual([]);
  });

  it('S8: the merge is in memory only, and sandbox.json is part of it', async () => {
    const project = here.project();
    const { stdout } = await shell(
      project,
      'stat -f -c %T /run/pi-session; cat /run/pi-session/merges/*/sandbox.json',
    );
    const [type, ...json] = stdout.split('\n');
    expect(type).toBe('tmpfs');
    expect(JSON.parse(json.join('\n'))).toMatchObject({
      version: 1,
      domain: 'default',
      project,
      idleStopMinutes: 10,
    });
  });
});
