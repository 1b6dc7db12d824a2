/** The memory extension in the real pi, against a model server that keeps what it was asked. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { LLMock } from '@copilotkit/aimock';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { agentDirAt, editMemory } from '../../../src/agent-dir/index.ts';
import { bundleExtension, piCli } from '../../setup/pi.ts';

let extension: string;
let mock: LLMock;
beforeAll(async () => {
  extension = await bundleExtension('memory');
  mock = new LLMock({ host: '127.0.0.1', port: 0, strict: true });
  await mock.start();
});
afterAll(() => mock.stop());

function makeAgent(user?: string) {
  const directory = mkdtempSync(join(tmpdir(), 'pi-memory-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const agentDir = join(directory, 'agent');
  mkdirSync(join(directory, 'project'));
  mkdirSync(agentDir);
  const provider = {
    name: 'Fake',
    baseUrl: `http://127.0.0.1:${mock.port}/v1`,
    api: 'openai-completions',
    apiKey: 'dummy',
    models: [{ id: 'fake-1', name: 'Fake', input: ['text'], contextWindow: 32_000, maxTokens: 4_096 }],
  };
  writeFileSync(join(agentDir, 'models.json'), JSON.stringify({ providers: { fake: provider } }));
  const settings = { defaultProvider: 'fake', defaultModel: 'fake-1', retry: { enabled: false } };
  writeFileSync(join(agentDir, 'settings.json'), JSON.stringify(settings));
  if (user !== undefined) writeFileSync(join(agentDir, 'USER.md'), user);
  const run = async (prompt: string, words: string[] = [], env: Record<string, string> = {}) => {
    const before = mock.getRequests().length;
    const child = spawn(process.execPath, [piCli(), '-e', extension, ...words, '-p', prompt], {
      cwd: join(directory, 'project'),
      env: {
        PATH: process.env.PATH,
        HOME: directory,
        PI_CODING_AGENT_DIR: agentDir,
        PI_OFFLINE: '1',
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    const requests = mock
      .getRequests()
      .slice(before)
      .map(({ body }) => JSON.stringify(body));
    return { code, stdout, stderr, requests };
  };
  return { agentDir, run };
}

/** Lets the model answer a prompt with one call of the tool. */
function calls(prompt: string, parameters: object): void {
  const call = { id: 'call_1', name: 'memory', arguments: JSON.stringify(parameters) };
  mock.on({ userMessage: prompt, hasToolResult: true }, { content: 'done' });
  mock.on({ userMessage: prompt, hasToolResult: false }, { toolCalls: [call] });
}

const PATIENT = { timeout: 60_000 };

describe('the memory in pi', () => {
  it('W11: the profile is in the system prompt, and a tool is there to change it', PATIENT, async () => {
    mock.on({ userMessage: 'hello one' }, { content: 'hi' });
    const { agentDir, run } = makeAgent('# Me\n\n- likes "tea" & biscuits\n');
    const { code, requests } = await run('hello one');
    expect(code).toBe(0);
    const body = JSON.parse(requests[0] ?? '{}');
    const system = body.messages.find(
      ({ role }: { role: string }) => role === 'system' || role === 'developer',
    );
    const prompt = JSON.stringify(system.content);
    expect(prompt).toContain('<user_profile>');
    expect(prompt).toContain('likes \\"tea\\" & biscuits');
    expect(prompt).toContain(`${agentDir}/USER.md`);
    expect(body.tools.map((tool: { function: { name: string } }) => tool.function.name)).toContain('memory');
  });

  it('W11: without a profile nothing is added, also to a prompt of the user’s own', PATIENT, async () => {
    mock.on({ userMessage: 'hello two' }, { content: 'hi' });
    expect((await makeAgent().run('hello two')).requests[0]).not.toContain('user_profile');
    const own = await makeAgent('- likes tea\n').run('hello two', ['--system-prompt', 'You are a test.']);
    expect(own.requests[0]).toContain('You are a test.');
    expect(own.requests[0]).toContain('likes tea');
  });

  it('W11: the model adds, replaces and removes, and is told what came of it', PATIENT, async () => {
    const { agentDir, run } = makeAgent('- likes tea\n');
    calls('remember it', { action: 'add', text: 'works in Berlin' });
    calls('change it', { action: 'replace', old: 'tea', text: 'coffee' });
    calls('forget it', { action: 'remove', text: 'Berlin' });
    expect((await run('remember it')).requests[1]).toContain('Remembered.');
    expect((await run('change it')).requests[0]).toContain('works in Berlin');
    expect(readFileSync(join(agentDir, 'USER.md'), 'utf8')).toBe('- likes coffee\n- works in Berlin\n');
    expect((await run('forget it')).requests[1]).toContain('Removed: - works in Berlin');
    expect(readFileSync(join(agentDir, 'USER.md'), 'utf8')).toBe('- likes coffee\n');
  });

  it('W11: what cannot be done is told to the model as a failure, and pi goes on', PATIENT, async () => {
    const { run } = makeAgent('- likes tea\n- likes tea with milk, too\n');
    calls('forget the milk and sugar', { action: 'remove', text: 'sugar' });
    const { code, requests } = await run('forget the milk and sugar');
    expect(code).toBe(0);
    expect(requests[1]).toContain('the profile does not hold');
  });

  it('W11: a profile in shards is pointed to, and shown whole by the tool', PATIENT, async () => {
    const { agentDir, run } = makeAgent();
    for (const n of [1, 2, 3]) {
      const action = { action: 'add', text: `fact ${n} ${'x'.repeat(300)}` } as const;
      await editMemory(agentDirAt(agentDir), action, { budget: 512 });
    }
    calls('show it', { action: 'show' });
    const { requests } = await run('show it', [], { USER_MD_BUDGET: '512' });
    expect(requests[0]).toContain('okf-memory/user-preferences/index.okf.md');
    expect(requests[0]).not.toContain('fact 2');
    expect(requests[1]).toContain('fact 2');
  });

  it('W11: a budget that is none is said, and the usual one taken', PATIENT, async () => {
    mock.on({ userMessage: 'hello three' }, { content: 'hi' });
    const { stderr, code } = await makeAgent('- likes tea\n').run('hello three', [], {
      USER_MD_BUDGET: 'much',
    });
    expect(code).toBe(0);
    expect(stderr).toContain('USER_MD_BUDGET');
  });

  it('W11: something else than a file in place of USER.md breaks no pi', PATIENT, async () => {
    mock.on({ userMessage: 'hello four' }, { content: 'hi' });
    const { agentDir, run } = makeAgent();
    mkdirSync(join(agentDir, 'USER.md'));
    const { code, requests } = await run('hello four');
    expect(code).toBe(0);
    expect(requests[0]).toContain('could not be read');
  });
});
