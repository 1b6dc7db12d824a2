import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../../setup/pi.ts';
import { type RpcWorld, rpcWorld } from '../../../setup/rpc-world.ts';

/** Commands that bring pi into the states in which its events mislead. */
const TROUBLE = `export default function (pi) {
  const command = (name, handler) => pi.registerCommand(name, { description: name, handler });
  command('twice', async () => { pi.sendUserMessage('one of two'); pi.sendUserMessage('two of two'); });
  command('once', async () => { pi.sendUserMessage('just this'); });
  command('long', async (_args, { ui }) => { ui.notify('x'.repeat(17 * 1024 * 1024)); ui.notify('short'); });
  command('shutdown', async (_args, context) => context.shutdown());
}`;

let world: RpcWorld;

beforeAll(async () => {
  world = await rpcWorld({
    retry: { enabled: true, maxRetries: 3, baseDelayMs: 30_000 },
    compaction: { enabled: true, reserveTokens: 2_000, keepRecentTokens: 50 },
  });
}, 300_000);

afterAll(() => world.stop());

describe('what misleads in real pi', () => {
  it('J4: the early agent_settled of a lost message does not end the turn', async () => {
    world.model.callBash('one of two', 'sleep 1', 'one is answered');
    world.model.callBash('two of two', 'sleep 1', 'two is answered');
    const { client, types } = await world.start({ extension: TROUBLE });
    const turn = client.prompt('/twice');
    expect(await turn.accepted).toBe('handled');
    const outcome = await turn.outcome;
    expect(outcome).toMatchObject({ kind: 'done', text: expect.stringMatching(/^(one|two) is answered$/) });
    // Real pi says it twice; the first time its tool has not even begun.
    const first = types().indexOf('agent_settled');
    expect(first).toBeLessThan(types().indexOf('tool_execution_start'));
  });

  it('J4: a run that a command starts is part of its turn', async () => {
    world.model.callBash('just this', 'sleep 1', 'this is answered');
    const { client } = await world.start({ extension: TROUBLE });
    const turn = client.prompt('/once');
    expect(await turn.accepted).toBe('handled');
    expect(await turn.outcome).toMatchObject({ kind: 'done', text: 'this is answered' });
  });

  it('J4: a compaction after the answer is no end and no failure', async () => {
    const long = 'word '.repeat(400);
    const usage = { prompt_tokens: 31_500, completion_tokens: 20, total_tokens: 31_520 };
    world.model.answer('fill it', () => ({ content: `filled ${long}`, usage }));
    world.model.answer(/summar/i, () => ({ content: 'a summary' }));
    const { client, types } = await world.start();
    await client.prompt(`fill it ${long}`).outcome;
    const outcome = await client.prompt(`fill it again ${long}`).outcome;
    expect(outcome).toMatchObject({ kind: 'done', text: expect.stringContaining('filled') });
    expect(types()).toContain('compaction_end');
    expect(types().at(-1)).toBe('agent_settled');
  });

  it('J4: aborted while it waits to try again, the turn ends as aborted', async () => {
    world.model.fail('be down', 503, 'down');
    const { client, types } = await world.start();
    const { outcome } = client.prompt('be down');
    await until('the wait', () => types().includes('auto_retry_start'));
    await client.abort();
    expect(await outcome).toMatchObject({ kind: 'aborted' });
  });

  it('J4: a line of more than 16 MiB costs itself only', async () => {
    world.model.say('after it', 'still here');
    const { client, events } = await world.start({ extension: TROUBLE });
    await client.prompt('/long').outcome;
    const kinds = events.map((event) => (event.type === 'problem' ? event.error.name : event.type));
    expect(kinds).toEqual(['PiLineTooLongError', 'extension_ui_request']);
    expect(await client.prompt('after it').outcome).toMatchObject({ kind: 'done', text: 'still here' });
  });

  it('J4: a pi that ends by itself is a named error, and its exit code is told', async () => {
    const { client } = await world.start({ extension: TROUBLE });
    const { outcome } = client.prompt('/shutdown');
    await expect(outcome).rejects.toThrow('pi ended (exit code 0)');
    expect(await client.ended).toMatchObject({ exit: { code: 0, signal: null } });
  });

  it('J4: stopping ends a running tool with pi', async () => {
    world.model.callBash('work on', 'echo $$ > pid; exec sleep 60', 'never said');
    const { client, types } = await world.start();
    const { outcome } = client.prompt('work on');
    await until('the tool', () => types().includes('tool_execution_start'));
    expect(await client.stop()).toEqual({ code: 143, signal: null });
    await expect(outcome).rejects.toThrow('pi ended (exit code 143)');
  });
});
