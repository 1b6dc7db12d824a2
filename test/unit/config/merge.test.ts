import { chmod, mkdir, mkdtemp, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { extract } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  CanonicalPath,
  DomainId,
  loadConfig,
  mergeSessionConfig,
  packMerge,
  rememberAnswer,
  showPath,
} from '../../../src/cli/config/index.ts';
import { ConfigError, LimitError } from '../../../src/lib/errors.ts';
import { SandboxConfig } from '../../../src/wire/index.ts';

let root: string;
let directory: string;
let project: CanonicalPath;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'merge-')));
  directory = join(root, 'home/.config/pi-sandbox');
  project = CanonicalPath.parse(join(root, 'project'));
  await mkdir(project);
});
afterEach(() => rm(root, { recursive: true }));

async function put(path: string, content: unknown): Promise<string> {
  const full = join(root, path);
  await mkdir(dirname(full), { recursive: true });
  await writeFile(full, typeof content === 'string' ? content : JSON.stringify(content));
  return full;
}
const global = (name: string, content: unknown) => put(`home/.config/pi-sandbox/config/${name}`, content);
const domain = (name: string, content: unknown) =>
  put(`home/.config/pi-sandbox/config/domains/work/${name}`, content);
const ofProject = (name: string, content: unknown) => put(`project/.pi-sandbox/${name}`, content);

async function merge(options: { trustProject?: boolean; env?: Record<string, string> } = {}) {
  const env = { PI_SANDBOX_DOMAINS: 'work', ...options.env };
  const config = await loadConfig({ env, home: join(root, 'home') });
  const trust = options.trustProject === undefined ? {} : { trustProject: options.trustProject };
  const merged = await mergeSessionConfig({ config, domain: DomainId.parse('work'), project, env, ...trust });
  return { ...merged, config };
}
type Merged = Awaited<ReturnType<typeof merge>>;
const json = (merged: Merged, name: string): unknown =>
  JSON.parse(merged.files.find(({ path }) => path === name)?.content.toString() ?? 'null');
const textOf = (merged: Merged, name: string) =>
  merged.files.find(({ path }) => path === name)?.content.toString();
const originOf = (merged: Merged, file: string, key: string) =>
  merged.origins.find((one) => one.file === file)?.origins.find(({ path }) => showPath(path) === key)?.file;

describe('the three levels', () => {
  it('S8: with no configuration there are empty files that pi accepts, and no warning', async () => {
    const merged = await merge();
    expect(merged.files.map(({ path }) => path)).toEqual(['mcp.json', 'models.json', 'settings.json']);
    expect(json(merged, 'models.json')).toEqual({ providers: {} });
    expect(merged.warnings).toEqual([]);
    expect(merged.consentNeeded).toEqual([]);
  });

  it('S8: settings are merged deeply, later wins, arrays are replaced, each key knows its origin', async () => {
    const first = await global('settings.json', {
      theme: 'dark',
      compaction: { enabled: true, reserveTokens: 1 },
      enabledModels: ['a', 'b'],
    });
    const second = await domain('settings.json', {
      compaction: { reserveTokens: 2 },
      retry: { provider: { maxRetries: 1 } },
    });
    const third = await ofProject('settings.json', {
      enabledModels: ['c'],
      compaction: { keepRecentTokens: 3 },
    });
    const merged = await merge();
    expect(json(merged, 'settings.json')).toEqual({
      theme: 'dark',
      compaction: { enabled: true, reserveTokens: 2, keepRecentTokens: 3 },
      enabledModels: ['c'],
      retry: { provider: { maxRetries: 1 } },
    });
    expect(originOf(merged, 'settings.json', 'theme')).toBe(first);
    expect(originOf(merged, 'settings.json', 'compaction.enabled')).toBe(first);
    expect(originOf(merged, 'settings.json', 'compaction.reserveTokens')).toBe(second);
    expect(originOf(merged, 'settings.json', 'compaction.keepRecentTokens')).toBe(third);
    expect(originOf(merged, 'settings.json', 'enabledModels')).toBe(third);
  });

  it('S8: an object that replaces a value, and the other way, leaves no stale origin', async () => {
    await global('settings.json', { images: { a: 1 }, terminal: true });
    const later = await domain('settings.json', { images: 'off', terminal: { b: 2 } });
    const merged = await merge();
    expect(json(merged, 'settings.json')).toEqual({ images: 'off', terminal: { b: 2 } });
    const origins = merged.origins[0]?.origins.map(({ path, file }) => [showPath(path), file]);
    expect(origins).toEqual([
      ['images', later],
      ['terminal.b', later],
    ]);
  });

  it('S8: servers are merged by name, each replaced whole', async () => {
    await global('mcp.json', {
      mcpServers: { a: { command: 'a', env: { X: '1' } }, b: { command: 'b' } },
      autoEnableCodemode: false,
    });
    await domain('mcp.json', { mcpServers: { a: { url: 'https://a.example' } } });
    expect(json(await merge(), 'mcp.json')).toEqual({
      mcpServers: { a: { url: 'https://a.example' }, b: { command: 'b' } },
      autoEnableCodemode: false,
    });
  });

  it('S8: AGENTS.md is stacked in order under headings that name each level', async () => {
    await global('AGENTS.md', 'one\n');
    await domain('AGENTS.md', 'two\n');
    await ofProject('AGENTS.md', 'three\n');
    expect(textOf(await merge(), 'AGENTS.md')).toBe(
      '# Instructions for every project\n\none\n\n# Instructions for the domain "work"\n\ntwo\n\n# Instructions of this project\n\nthree\n',
    );
  });

  it('S8: skills and the like come from global and domain level, by entry name, the domain winning', async () => {
    await global('skills/a/SKILL.md', 'a');
    await global('skills/a/extra.md', 'only global');
    await global('skills/b/SKILL.md', 'b');
    await domain('skills/a/SKILL.md', 'a of work');
    await domain('SYSTEM.md', 'system');
    await chmod(await global('extensions/tool.sh', '#!/bin/sh\n'), 0o755);
    const merged = await merge();
    expect(
      merged.files
        .filter(({ path }) => path.startsWith('config/'))
        .map(({ path, executable }) => [path, executable]),
    ).toEqual([
      ['config/SYSTEM.md', false],
      ['config/extensions/tool.sh', true],
      ['config/skills/a/SKILL.md', false],
      ['config/skills/b/SKILL.md', false],
    ]);
    expect(textOf(merged, 'config/skills/a/SKILL.md')).toBe('a of work');
  });

  it("S8: another domain's level is not read", async () => {
    await put('home/.config/pi-sandbox/config/domains/private/settings.json', '{ broken');
    expect((await merge()).warnings).toEqual([]);
  });

  it('S8: the configuration may be a directory of symlinks, but not a loop', async () => {
    await put('dotfiles/skills/a/SKILL.md', 'linked');
    await put('dotfiles/settings.json', { theme: 'linked' });
    await mkdir(join(directory, 'config'), { recursive: true });
    await symlink(join(root, 'dotfiles/skills'), join(directory, 'config/skills'));
    await symlink(join(root, 'dotfiles/settings.json'), join(directory, 'config/settings.json'));
    const merged = await merge();
    expect(textOf(merged, 'config/skills/a/SKILL.md')).toBe('linked');
    expect(json(merged, 'settings.json')).toEqual({ theme: 'linked' });
    await symlink('..', join(root, 'dotfiles/skills/a/loop'));
    await expect(merge()).rejects.toThrow(/symlink to a directory that contains it|nested deeper/);
  });

  it('S8: a name that nothing reads is a warning', async () => {
    await global('setings.json', {});
    expect((await merge()).warnings).toEqual([expect.stringContaining('setings.json: is ignored')]);
  });

  it('S8: package sources are listed, in both of their forms', async () => {
    await global('settings.json', { packages: ['npm:a', { source: 'git:b', skills: [] }] });
    const merged = await merge();
    expect(merged.packages).toEqual(['npm:a', 'git:b']);
    expect(merged.sandbox.packages).toEqual(['npm:a', 'git:b']);
    await global('settings.json', { packages: 'npm:a' });
    await expect(merge()).rejects.toThrow(/"packages" must be a list/);
  });
});

describe('bad files', () => {
  it.each([
    ['{\n  "a": 1,\n  "b": x\n}', '3:8'],
    ['{"a": 1,}', '1:9'],
    ['{"a": 1', '1:8'],
    ['', '1:1'],
    ['{"a" 1}', '1:6'],
    ['{\r\n"a": [1 2]}', '2:9'],
    ['{"a": 01}', '1:7'],
    ['{"a": "x\ny"}', '1:7'],
    ['{} {}', '1:4'],
    ['// no comments here\n{}', '1:1'],
    ['[1]', '1:1'],
  ])('S8: invalid JSON %j names file, line and column, and shows none of it', async (text, place) => {
    const file = await global('settings.json', text);
    const failure = await merge().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConfigError);
    expect(failure).toMatchObject({ where: `${file}:${place}`, message: expect.not.stringContaining('"a"') });
  });

  it('S8: a byte order mark is accepted, and in models.json what pi accepts: comments and trailing commas', async () => {
    await global('settings.json', '\uFEFF{"theme":"x"}');
    await global('models.json', '{ // local\n "providers": { "a": { "baseUrl": "http://a//b", }, } }');
    const merged = await merge();
    expect(json(merged, 'settings.json')).toEqual({ theme: 'x' });
    expect(json(merged, 'models.json')).toEqual({ providers: { a: { baseUrl: 'http://a//b' } } });
  });

  it('S8: an error after a comment keeps its place', async () => {
    await global('models.json', '{ // local\n "providers": oops }');
    await expect(merge()).rejects.toMatchObject({ where: expect.stringContaining('models.json:2:15') });
  });

  it('rule 8: "__proto__" reaches neither the merged files nor any object', async () => {
    await global('settings.json', '{"compaction":{"enabled":true}}');
    await ofProject(
      'settings.json',
      '{"compaction":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":2}}},"__proto__":{"theme":"x"}}',
    );
    await global('mcp.json', '{"mcpServers":{"x":{"args":[{"__proto__":{"polluted":3}}]}}}');
    const merged = await merge();
    expect(merged.files.map(({ content }) => content.toString()).join()).not.toContain('__proto__');
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
    expect(Reflect.get(Object, 'prototype')).not.toHaveProperty('polluted');
  });

  it('rule 7: depth, file size and total size are bounded', async () => {
    await global('settings.json', `{"a":${'['.repeat(100)}${']'.repeat(100)}}`);
    await expect(merge()).rejects.toThrow(/nested deeper than 64/);
    await global('settings.json', `{"a":"${'x'.repeat(1024 * 1024)}"}`);
    await expect(merge()).rejects.toThrow(/limit for this file/);
    await global('settings.json', {});
    for (let index = 0; index < 33; index += 1) await global(`skills/${index}.md`, 'x'.repeat(1024 * 1024));
    await expect(merge()).rejects.toThrow(/32 MiB/);
  });
});

describe('the project level is untrusted', () => {
  it('S8: it may set only the listed settings; others are a warning and ignored', async () => {
    await ofProject('settings.json', {
      defaultModel: 'm',
      quietStartup: 'yes',
      httpProxy: 'http://evil',
      packages: ['npm:evil'],
      $schema: 'x',
    });
    const merged = await merge();
    expect(json(merged, 'settings.json')).toEqual({ defaultModel: 'm' });
    expect(merged.packages).toEqual([]);
    expect(merged.warnings.join('\n')).toMatch(
      /quietStartup is ignored; it must be true or false[\s\S]*httpProxy, packages ignored/,
    );
  });

  it('S8: skills, extensions and system prompts have no effect there', async () => {
    await ofProject('skills/x/SKILL.md', 'x');
    await ofProject('SYSTEM.md', 'x');
    const merged = await merge();
    expect(merged.files.some(({ path }) => path.startsWith('config/'))).toBe(false);
    expect(merged.warnings).toHaveLength(2);
  });

  it('S8: an MCP server needs consent, once per project and content', async () => {
    await ofProject('mcp.json', { mcpServers: { x: { command: 'sh', args: ['-c', 'evil\u001b[2J'] } } });
    const before = await merge();
    expect(json(before, 'mcp.json')).toEqual({ mcpServers: {} });
    expect(before.consentNeeded).toEqual([
      expect.objectContaining({
        kind: 'mcp-server',
        name: 'x',
        summary: 'MCP server x: runs sh -c evil\ufffd',
      }),
    ]);
    expect(before.warnings[0]).toContain('--trust-project-config');
    await rememberAnswer(before.config, project, before.consentNeeded, 'agreed');
    const after = await merge();
    expect(json(after, 'mcp.json')).toEqual({
      mcpServers: { x: { command: 'sh', args: ['-c', 'evil\u001b[2J'] } },
    });
    expect(after.warnings).toEqual([]);
    expect((await stat(join(directory, 'consent.json'))).mode & 0o777).toBe(0o600);

    await ofProject('mcp.json', { mcpServers: { x: { args: ['-c', 'worse'], command: 'sh' } } });
    expect((await merge()).consentNeeded).toHaveLength(1);
    project = CanonicalPath.parse(join(root, 'other'));
    await put('other/.pi-sandbox/mcp.json', {
      mcpServers: { x: { command: 'sh', args: ['-c', 'evil\u001b[2J'] } },
    });
    expect((await merge()).consentNeeded).toHaveLength(1);
  });

  it('S8: the order of keys is no new content, a server of the same name in the user’s own level stays', async () => {
    await global('mcp.json', { mcpServers: { x: { command: 'mine' } } });
    await ofProject('mcp.json', { mcpServers: { x: { command: 'theirs', timeout: 1 } } });
    const before = await merge();
    expect(json(before, 'mcp.json')).toEqual({ mcpServers: { x: { command: 'mine' } } });
    await rememberAnswer(before.config, project, before.consentNeeded, 'agreed');
    await ofProject('mcp.json', '{"mcpServers":{"x":{"timeout":1,"command":"theirs"}}}');
    expect(json(await merge(), 'mcp.json')).toEqual({ mcpServers: { x: { command: 'theirs', timeout: 1 } } });
  });

  it('S8: a no is remembered like a yes, for exactly that content, and a later yes takes its place', async () => {
    const x = (word: string) => ofProject('mcp.json', { mcpServers: { x: { command: word } } });
    await x('one');
    const before = await merge();
    expect(before.consentNeeded).toMatchObject([{ name: 'x', refused: false }]);
    await rememberAnswer(before.config, project, before.consentNeeded, 'refused');
    const refused = await merge();
    expect(refused.consentNeeded).toMatchObject([{ name: 'x', refused: true }]);
    expect(refused.warnings[0]).toMatch(/ignored, since you refused it.*--trust-project-config/);
    await x('two');
    expect((await merge()).consentNeeded).toMatchObject([{ refused: false }]);
    await x('one');
    await rememberAnswer(before.config, project, before.consentNeeded, 'agreed');
    expect((await merge()).consentNeeded).toEqual([]);
  });

  it('S8: a program that knows of no refusals takes none for a yes', async () => {
    await ofProject('mcp.json', { mcpServers: { x: { command: 'evil' } } });
    const { config, consentNeeded } = await merge();
    await rememberAnswer(config, project, consentNeeded, 'refused');
    const { projects } = JSON.parse(await readFile(join(directory, 'consent.json'), 'utf8'));
    expect(projects).toEqual({});
  });

  it('S8: two answers given at the same moment are both remembered', async () => {
    await ofProject('mcp.json', { mcpServers: { a: { command: 'a' }, b: { command: 'b' } } });
    const { config, consentNeeded } = await merge();
    expect(consentNeeded).toHaveLength(2);
    await Promise.all(consentNeeded.map((item) => rememberAnswer(config, project, [item], 'agreed')));
    expect((await merge()).consentNeeded).toEqual([]);
  });

  it('S8: a model provider, which could send keys elsewhere or run a command, needs consent too', async () => {
    await global('models.json', { providers: { anthropic: { apiKey: '$KEY' } } });
    await ofProject('models.json', { providers: { anthropic: { baseUrl: 'https://evil.example' } } });
    const merged = await merge();
    expect(json(merged, 'models.json')).toEqual({ providers: { anthropic: { apiKey: '$KEY' } } });
    expect(merged.consentNeeded[0]?.summary).toContain('https://evil.example');
  });

  it('S8: --trust-project-config takes all this time and remembers nothing', async () => {
    await ofProject('mcp.json', { mcpServers: { x: { command: 'a' } } });
    expect(json(await merge({ trustProject: true }), 'mcp.json')).toEqual({
      mcpServers: { x: { command: 'a' } },
    });
    expect((await merge()).consentNeeded).toHaveLength(1);
  });

  it('rule 8: nothing is read through a link that leaves the project', async () => {
    await put('secret/AGENTS.md', 'secret');
    await put('secret/settings.json', { theme: 'secret' });
    await mkdir(join(project, '.pi-sandbox'));
    await symlink(join(root, 'secret/AGENTS.md'), join(project, '.pi-sandbox/AGENTS.md'));
    const one = await merge();
    expect(textOf(one, 'AGENTS.md')).toBeUndefined();
    expect(one.warnings).toHaveLength(1);
    await rm(join(project, '.pi-sandbox'), { recursive: true });
    await symlink(join(root, 'secret'), join(project, '.pi-sandbox'));
    const two = await merge();
    expect(json(two, 'settings.json')).toEqual({});
    expect(two.warnings).toEqual([expect.stringContaining('is not a directory and is ignored')]);
  });

  it('rule 7: a huge file or directory in the project is refused or cut with a message', async () => {
    for (let index = 0; index < 50; index += 1) await ofProject(`file-${index}`, '');
    expect((await merge()).warnings).toHaveLength(11);
    await rm(join(project, '.pi-sandbox'), { recursive: true });
    await ofProject('AGENTS.md', 'x'.repeat(1024 * 1024 + 1));
    await expect(merge()).rejects.toThrow(LimitError);
  });

  it('S8: a damaged consent file is an error, not an answer', async () => {
    await ofProject('mcp.json', { mcpServers: { x: { command: 'a' } } });
    await put('home/.config/pi-sandbox/consent.json', { version: 2, projects: {} });
    await expect(merge()).rejects.toThrow(/newer version/);
  });
});

describe('certificates', () => {
  const PEM = '-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----';

  it('S10: CA_CERTIFICATES, else NODE_EXTRA_CA_CERTS, else SSL_CERT_FILE; never a private key beside it', async () => {
    const a = await put('a.pem', `${PEM}\n-----BEGIN PRIVATE KEY-----\nU0VD\n-----END PRIVATE KEY-----\n`);
    const b = await put('b.pem', PEM);
    const env = { PI_SANDBOX_CA_CERTIFICATES: a, NODE_EXTRA_CA_CERTS: b, SSL_CERT_FILE: b };
    const merged = await merge({ env });
    expect(merged.certificates).toEqual({ from: a, content: Buffer.from(`${PEM}\n`) });
    expect(merged.sandbox.trustHostCertificates).toBe(true);
    expect((await merge({ env: { SSL_CERT_FILE: b } })).certificates?.from).toBe(b);
    expect(
      (await merge({ env: { NODE_EXTRA_CA_CERTS: '/missing', SSL_CERT_FILE: b } })).warnings,
    ).toHaveLength(1);
  });

  it('S10: a file without a certificate is an error', async () => {
    const bad = await put('bad.pem', 'hello');
    await expect(merge({ env: { PI_SANDBOX_CA_CERTIFICATES: bad } })).rejects.toThrow(
      /no certificate in PEM form/,
    );
    await expect(merge({ env: { PI_SANDBOX_CA_CERTIFICATES: '/missing' } })).rejects.toThrow(
      /does not exist/,
    );
  });
});

describe('the tar', () => {
  it('S8: it holds every file and sandbox.json, with equal bytes for equal merges', async () => {
    await global('settings.json', { theme: 'x' });
    await global(`skills/${'long'.repeat(40)}/SKILL.md`, 'skill');
    const [one, two] = [await packMerge(await merge()), await packMerge(await merge())];
    expect(one.sha256).toBe(two.sha256);
    expect(one.length).toBe(one.tar.length);
    const entries = new Map<string, string>();
    const archive = extract();
    archive.end(one.tar);
    for await (const entry of archive) {
      const pieces: Buffer[] = [];
      for await (const piece of entry) if (piece instanceof Uint8Array) pieces.push(Buffer.from(piece));
      entries.set(entry.header.name, Buffer.concat(pieces).toString());
    }
    expect([...entries.keys()]).toEqual([
      `config/skills/${'long'.repeat(40)}/SKILL.md`,
      'mcp.json',
      'models.json',
      'settings.json',
      'sandbox.json',
    ]);
    const sandbox = SandboxConfig.parse(JSON.parse(entries.get('sandbox.json') ?? ''));
    expect(sandbox).toMatchObject({
      domain: 'work',
      project,
      idleStopMinutes: 10,
      trustHostCertificates: false,
    });
  });
});
