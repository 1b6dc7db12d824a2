import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nextReply } from '../../../src/agent/extensions/demo-script.ts';
import { makePiWorld, type PiWorld, runPi } from '../../setup/pi.ts';
import { startRpcPi } from '../../setup/pi-rpc.ts';

let directory: string;
let world: PiWorld;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'demo-model-'));
  world = await makePiWorld(directory);
  writeFileSync(join(world.project, 'README.md'), '# A title of its own\n\ntext\n');
}, 300_000);

afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('the demo model', () => {
  it('S23: answers without key or network, says that it is no real model, and changes nothing', async () => {
    const args = ['--no-session', '-p', 'what is here?'];
    const [first, again] = [await runPi(world, args), await runPi(world, args)];
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toContain('not a real model');
    expect(first.stdout).toContain(world.project);
    expect(first.stdout).toContain('A title of its own');
    expect(first.stdout).toContain('pi-sandbox start');
    expect(again.stdout).toBe(first.stdout);
    expect(readdirSync(world.project)).toEqual(['README.md']);
  });

  it('S23: runs real tools: a look by bash and a read, with no tokens counted', async () => {
    const { stdout } = await runPi(world, ['--no-session', '--mode', 'json', 'hello']);
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line): Record<string, unknown> => JSON.parse(line));
    const ran = events.filter(({ type }) => type === 'tool_execution_end');
    expect(ran.map(({ toolName, isError }) => [toolName, isError])).toEqual([
      ['bash', false],
      ['read', false],
    ]);
    const answers = events.filter(({ type }) => type === 'turn_end').map(({ message }) => message);
    expect(answers).toHaveLength(3);
    for (const answer of answers)
      expect(answer).toMatchObject({ usage: { totalTokens: 0, cost: { total: 0 } } });
  });

  it('S23: an abort stops the tool it runs', async () => {
    const pi = startRpcPi(world, ['--no-session']);
    await pi.request({ type: 'prompt', message: 'run sleep 50' });
    while (!pi.lines.some(({ type }) => type === 'tool_execution_start')) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect((await pi.request({ type: 'abort' })).success).toBe(true);
    const { data } = await pi.request({ type: 'get_state' });
    expect(data).toMatchObject({ isStreaming: false });
    await pi.prompt('read README.md');
    const { data: last } = await pi.request({ type: 'get_last_assistant_text' });
    expect(JSON.stringify(last)).toContain('A title of its own');
    await pi.end();
  });

  it('S23: without tools it says what is missing', () => {
    const reply = nextReply([{ role: 'user', content: 'run ls' }]);
    expect(reply.call).toBeUndefined();
    expect(reply.text).toContain('bash');
  });

  it('S23: output cannot break out of its quotation', () => {
    const { text } = nextReply([
      { role: 'user', content: 'run x' },
      { role: 'toolResult', content: 'a\n```\nb\n````\nc' },
    ]);
    expect(text.match(/^`{5}$/gm)).toHaveLength(2);
  });
});
