import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PiBusyError } from '../../../../src/pi/index.ts';
import { until } from '../../../setup/pi.ts';
import { type RpcWorld, rpcWorld } from '../../../setup/rpc-world.ts';

let world: RpcWorld;

beforeAll(async () => {
  world = await rpcWorld({ retry: { enabled: true, maxRetries: 2, baseDelayMs: 50 } });
}, 300_000);

afterAll(() => world.stop());

const unavailable = { error: { message: 'down', type: 'fake_error' }, status: 503 };

describe('a turn of real pi', () => {
  it('J4: is done when pi has settled, with the text of the last message', async () => {
    world.model.callBash('use a tool', 'echo from the tool', 'the tool has run');
    const { client, types } = await world.start();
    const turn = client.prompt('use a tool');
    expect(await turn.accepted).toBe('started');
    expect(await turn.outcome).toMatchObject({ kind: 'done', text: 'the tool has run' });
    expect(types().at(-1)).toBe('agent_settled');
    expect(types()).toContain('tool_execution_end');
  });

  it('J4: U+2028 and U+2029 in prompt and answer are text', async () => {
    const { client } = await world.start();
    world.model.say('lines\u2028and\u2029paragraphs', 'an answer\u2028with\u2029both\r\n');
    const { outcome } = client.prompt('lines\u2028and\u2029paragraphs');
    expect(await outcome).toMatchObject({ kind: 'done', text: 'an answer\u2028with\u2029both\r\n' });
  });

  it('J4: an answer without text is done, and empty', async () => {
    const { client } = await world.start();
    world.model.say('say nothing', '');
    expect(await client.prompt('say nothing').outcome).toMatchObject({ kind: 'done', text: '' });
  });

  it('J4: a retry is no end', async () => {
    let asked = 0;
    world.model.answer('be flaky', () => (asked++ < 2 ? unavailable : { content: 'at last' }));
    const { client, types } = await world.start();
    expect(await client.prompt('be flaky').outcome).toMatchObject({ kind: 'done', text: 'at last' });
    expect(types().filter((type) => type === 'auto_retry_start')).toHaveLength(2);
  });

  it('J4: a provider that goes on failing is a failure, with its words', async () => {
    world.model.answer('stay down', () => unavailable);
    const { client } = await world.start();
    const outcome = await client.prompt('stay down').outcome;
    expect(outcome).toMatchObject({ kind: 'failed', cause: 'provider' });
    expect(outcome).toHaveProperty('reason', expect.stringContaining('down'));
  });

  it('J4: an answer that was cut is a failure', async () => {
    world.model.answer('be long', () => ({ content: 'this is only the', finishReason: 'length' }));
    const { client } = await world.start();
    const outcome = await client.prompt('be long').outcome;
    expect(outcome).toMatchObject({ kind: 'failed', cause: 'length', text: 'this is only the' });
  });

  it('J4: a prompt that pi refuses is a failure, with its reason', async () => {
    const { client } = await world.start({ env: { PI_CODING_AGENT_DIR: join(world.project, 'empty') } });
    const turn = client.prompt('hello');
    expect(await turn.accepted).toBe('refused');
    expect(await turn.outcome).toMatchObject({ kind: 'failed', cause: 'refused' });
    expect(await turn.outcome).toHaveProperty('reason', expect.stringContaining('No API key'));
  });

  it('J4: aborted in the middle of a tool, it ends as aborted, and the next prompt works', async () => {
    world.model.callBash('take your time', 'sleep 30', 'never said');
    world.model.say('and now', 'here I am');
    const { client, types } = await world.start();
    const { outcome } = client.prompt('take your time');
    await until('the tool', () => types().includes('tool_execution_start'));
    await client.abort();
    expect(await outcome).toMatchObject({ kind: 'aborted' });
    expect(await client.prompt('and now').outcome).toMatchObject({ kind: 'done', text: 'here I am' });
  });

  it('J4: one prompt at a time', async () => {
    world.model.say('first', 'one');
    const { client } = await world.start();
    const { outcome } = client.prompt('first');
    expect(() => client.prompt('second')).toThrow(PiBusyError);
    expect(await outcome).toMatchObject({ kind: 'done', text: 'one' });
  });

  it('J4: what steers and what follows up is part of the turn', async () => {
    world.model.callBash('begin', 'sleep 1', 'begun');
    world.model.say('turn left', 'turned');
    world.model.say('then stop', 'stopped');
    const { client, types } = await world.start();
    const { outcome } = client.prompt('begin');
    const receipts = [await client.steer('turn left'), await client.followUp('then stop')];
    expect(receipts).toEqual(['queued', 'queued']);
    expect(await outcome).toMatchObject({ kind: 'done', text: 'stopped', unsent: { followUp: [] } });
    expect(types().filter((type) => type === 'agent_settled')).toHaveLength(1);
  });

  it('J6: what is steered at an idle pi is not sent', async () => {
    const { client } = await world.start();
    expect(await client.steer('hello?')).toBe('not-running');
    expect(await client.state()).toMatchObject({ pendingMessageCount: 0 });
  });

  it('J4: none of it touches the global settings', () => {
    expect(JSON.parse(world.settings())).toEqual({
      defaultProvider: 'fake',
      defaultModel: 'fake-1',
      retry: { enabled: true, maxRetries: 2, baseDelayMs: 50 },
    });
  });
});
