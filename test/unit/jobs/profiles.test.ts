import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { agentDirAt } from '../../../src/agent-dir/index.ts';
import {
  agentPrompts,
  findProfile,
  listProfiles,
  type ProfilePlaces,
  parseJobName,
  projectAt,
} from '../../../src/jobs/index.ts';
import { parseProfile } from '../../../src/jobs/profiles/profile.ts';
import { commandScene } from './command/scene.ts';

const SHIPPED = join(import.meta.dirname, '../../../src/agent/profiles');

function scene() {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'pi-profiles-')));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  const put = (path: string, content: string): string => {
    mkdirSync(dirname(join(top, path)), { recursive: true });
    writeFileSync(join(top, path), content);
    return join(top, path);
  };
  mkdirSync(join(top, 'code/project'), { recursive: true });
  const places: ProfilePlaces = {
    project: projectAt(join(top, 'code/project')),
    agentDir: agentDirAt(join(top, 'agent')),
    shipped: SHIPPED,
  };
  const names = async () =>
    (await listProfiles(places)).profiles.map(({ profile, source }) => `${source} ${profile.name}`);
  return { top, put, places, names };
}

const head = (fields: string, text = 'You test.'): string => `---\n${fields}\n---\n${text}\n`;

describe('profiles', () => {
  it('J7: worker, reviewer and scout are shipped, and each can be read', async () => {
    const { places } = scene();
    const { profiles, bad } = await listProfiles(places);
    expect(bad).toEqual([]);
    expect(profiles.map(({ profile, source }) => [profile.name, source, profile.description !== ''])).toEqual(
      [
        ['reviewer', 'shipped', true],
        ['scout', 'shipped', true],
        ['worker', 'shipped', true],
      ],
    );
  });

  it('J7: every field is read', async () => {
    const fields =
      'name: tester\ndescription: Tests\nmodel: fake/fake-1\nthinking: high\ntools: [read, bash]\nprompt: replace\ntimeout: 1h30m\nmax-depth: 1\ncolor: blue';
    expect(await parseProfile('/x/t.md', head(fields), 't')).toEqual({
      name: 'tester',
      description: 'Tests',
      model: 'fake/fake-1',
      thinking: 'high',
      tools: 'read,bash',
      prompt: 'replace',
      timeoutSeconds: 5_400,
      maxDepth: 1,
      text: 'You test.',
    });
    const plain = await parseProfile('/x/plain.md', '\uFEFFJust do it.\r\nNow.', 'plain');
    expect(plain).toMatchObject({
      name: 'plain',
      prompt: 'append',
      text: 'Just do it.\nNow.',
      tools: undefined,
    });
  });

  it('J7: a bad profile names its file and the field', async () => {
    const reason = (content: string) =>
      parseProfile('/x/t.md', content, 't').then(
        () => 'fine',
        (error: Error) => error.message,
      );
    expect(await reason(head('thinking: much'))).toMatch(/^\/x\/t\.md: thinking: /);
    expect(await reason(head('prompt: instead'))).toMatch(/^\/x\/t\.md: prompt: /);
    expect(await reason(head('max-depth: -1'))).toMatch(/^\/x\/t\.md: max-depth: /);
    expect(await reason(head('timeout: soon'))).toMatch(/^\/x\/t\.md: timeout: "soon" is no duration/);
    expect(await reason(head('name: Not A Name'))).toMatch(/^\/x\/t\.md: name: /);
    expect(await reason(head('tools: {read: yes}'))).toMatch(/^\/x\/t\.md: tools: /);
    expect(await reason(head('description: [unclosed'))).toMatch(/^\/x\/t\.md: front matter: /);
    expect(await reason('---\nname: t\n')).toMatch(/^\/x\/t\.md: front matter: no line "---" ends it/);
    expect(await reason(head('- a\n- b'))).toMatch(/^\/x\/t\.md: front matter: /);
  });

  it('J7: the project’s go before the user’s and those before the shipped, where pi trusts the project', async () => {
    const { put, places, names } = scene();
    put('agent/agents/worker.md', head('description: mine'));
    put('code/project/.pi/agents/scout.md', head('description: ours'));
    expect(await names()).toEqual(['shipped reviewer', 'shipped scout', 'user worker']);
    expect((await listProfiles(places)).untrusted).toBe(true);
    put('agent/trust.json', JSON.stringify({ [dirname(places.project.real)]: true }));
    expect(await names()).toEqual(['shipped reviewer', 'project scout', 'user worker']);
    put(
      'agent/trust.json',
      JSON.stringify({ [dirname(places.project.real)]: true, [places.project.real]: false }),
    );
    expect(await names()).toContain('shipped scout');
    put('agent/trust.json', '{}');
    put('agent/settings.json', '{"defaultProjectTrust":"always"}');
    expect(await names()).toContain('project scout');
  });

  it('rule 8: a project’s profile that leads out of it is not read', async () => {
    const { put, places, top } = scene();
    put('agent/settings.json', '{"defaultProjectTrust":"always"}');
    put('secret.md', head('description: secret'));
    put('code/project/.pi/agents/good.md', 'fine');
    symlinkSync(join(top, 'secret.md'), join(places.project.real, '.pi/agents/leak.md'));
    const { profiles, bad } = await listProfiles(places);
    expect(profiles.map(({ profile }) => profile.name)).toContain('good');
    expect(bad.map(({ message }) => message)).toEqual([expect.stringContaining('leads out of')]);
  });

  it('J7: a name that there is not names those that there are; one whose file is bad says what is wrong', async () => {
    const { put, places } = scene();
    await expect(findProfile(places, 'nobody')).rejects.toMatchObject({
      message: 'there is no profile "nobody"',
      hint: 'there are: reviewer, scout, worker',
    });
    put('agent/agents/worker.md', head('thinking: much'));
    await expect(findProfile(places, 'worker')).rejects.toThrow(/worker\.md: thinking/);
  });

  it('J7: in append mode the profile’s prompt comes first, then what it means to be a job; in replace mode it is pi’s', async () => {
    const circumstances = { project: '/home/me/app', parent: 'lead', ask: false, mayStart: false };
    const name = parseJobName('tests');
    const appended = agentPrompts(await parseProfile('/x/t.md', head('name: t'), 't'), circumstances);
    expect(appended.system).toBeUndefined();
    expect(appended.append(name)).toMatch(/^You test\.\n\n# You are a background agent\n/);
    expect(appended.append(name)).toContain('the agent "tests", started by the agent "lead"');
    const replaced = agentPrompts(await parseProfile('/x/t.md', head('prompt: replace'), 't'), circumstances);
    expect(replaced.system).toBe('You test.\n');
    expect(replaced.append(name)).toMatch(/^# You are a background agent\n/);
  });
});

describe('a job with a profile', { timeout: 60_000 }, () => {
  it('J7, J8: pi gets the profile’s prompt, tools and limits, and an option goes before them', async () => {
    const { model, call, json, agent, jobDirectory } = await commandScene();
    mkdirSync(join(agent, 'agents'));
    writeFileSync(
      join(agent, 'agents/terse.md'),
      head('prompt: replace\ntools: read\ntimeout: 5m\nmax-depth: 0', 'You are terse.'),
    );
    model.callBash('try others', 'multi-agent start x; echo code $?', 'Tried.');
    model.say('look', 'Looked.');
    await call('run', '--name', 'one', '--profile', 'terse', 'look');
    const [request] = model.requests();
    expect(JSON.stringify(request)).toContain('You are terse.');
    expect(JSON.stringify(request)).toContain('You cannot start other agents.');
    expect(toolNames(request)).toEqual(['read']);
    expect(await json('status', 'one')).toMatchObject({ profile: 'terse', timeoutSeconds: 300 });
    expect(readFileSync(join(jobDirectory('one'), 'system-prompt.md'), 'utf8')).toBe('You are terse.\n');
    await call(
      'run',
      '--name',
      'two',
      '--profile',
      'terse',
      '--tools',
      'bash',
      '--timeout',
      '0',
      'try others',
    );
    expect(await json('status', 'two')).toMatchObject({ timeoutSeconds: 0 });
    expect(JSON.stringify(model.requests().at(-1))).toMatch(/at depth 0 of at most 0.*code 2/);
  });

  it('J7: each shipped profile runs with real pi', async () => {
    const { model, call } = await commandScene();
    model.say('look', 'Looked.');
    for (const profile of ['worker', 'reviewer', 'scout']) {
      expect(await call('run', '--profile', profile, 'look')).toMatchObject({ code: 0, stdout: 'Looked.\n' });
    }
    expect((await call('profiles')).stdout).toMatch(/^PROFILE +FROM .*\nreviewer +shipped /);
  });
});

function toolNames(request: unknown): string[] {
  const { tools } = Object(request);
  return Array.isArray(tools) ? tools.map(({ function: { name } }) => name) : [];
}
