import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PiDialog } from '../../../../src/pi/index.ts';
import { until } from '../../../setup/pi.ts';
import { type RpcWorld, rpcWorld, type Started } from '../../../setup/rpc-world.ts';

/** Opens the dialogs that the words of the command name, and tells what it was answered. */
const ASKING = `export default function (pi) {
  const ask = {
    select: (ui) => ui.select('Pick', ['a', 'b']),
    confirm: (ui) => ui.confirm('Sure?', 'it is final'),
    input: (ui) => ui.input('Name?', 'a name'),
    editor: (ui) => ui.editor('Edit', 'before'),
    hasty: (ui) => ui.input('Quick?', '', { timeout: 300 }),
  };
  pi.registerCommand('ask', { description: 'asks', handler: async (args, { ui }) => {
    for (const word of args.split(' ')) ui.notify(JSON.stringify([word, await ask[word](ui) ?? null]));
  } });
  pi.on('tool_call', async (event, { ui }) => (await ui.confirm('Run it?', 'a tool') ? undefined : { block: true, reason: 'no' }));
}`;

let world: RpcWorld;

beforeAll(async () => {
  world = await rpcWorld();
}, 300_000);

afterAll(() => world.stop());

/** What the command was answered. */
function told({ events }: Started): unknown[] {
  return events.flatMap((event) =>
    event.type === 'extension_ui_request' && event.method === 'notify'
      ? [JSON.parse(event.message ?? '')]
      : [],
  );
}

describe('dialogs of real pi', () => {
  it('J5: nobody is there, so each is answered cancelled', async () => {
    const pi = await world.start({ extension: ASKING });
    const turn = pi.client.prompt('/ask select confirm input editor');
    expect(await turn.accepted).toBe('handled');
    expect(told(pi)).toEqual([
      ['select', null],
      ['confirm', false],
      ['input', null],
      ['editor', null],
    ]);
    // A command that starts no run leaves no answer of the model.
    expect(await turn.outcome).toMatchObject({ kind: 'failed', cause: 'no-message' });
  });

  it('J5: a handler answers, and sees what is asked', async () => {
    const asked: PiDialog[] = [];
    const pi = await world.start({
      extension: ASKING,
      onDialog: async (dialog) => {
        asked.push(dialog);
        return dialog.method === 'confirm' ? { confirmed: true } : { value: `${dialog.method}!` };
      },
    });
    await pi.client.prompt('/ask select confirm input editor').accepted;
    expect(told(pi)).toEqual([
      ['select', 'select!'],
      ['confirm', true],
      ['input', 'input!'],
      ['editor', 'editor!'],
    ]);
    expect(asked).toMatchObject([
      { title: 'Pick', options: ['a', 'b'] },
      { title: 'Sure?', message: 'it is final' },
      { title: 'Name?', placeholder: 'a name' },
      { title: 'Edit', prefill: 'before' },
    ]);
  });

  it('J5: while one is open pi is asked nothing of it, and the list shows it', async () => {
    const answer = Promise.withResolvers<{ value: string }>();
    const pi = await world.start({ extension: ASKING, onDialog: () => answer.promise });
    const { accepted } = pi.client.prompt('/ask input');
    await until('the dialog', () => pi.client.dialogs().length === 1);
    expect(await pi.client.state()).toMatchObject({ isStreaming: false });
    answer.resolve({ value: 'Ada' });
    await accepted;
    expect(told(pi)).toEqual([['input', 'Ada']]);
    expect(pi.client.dialogs()).toEqual([]);
  });

  it('J5: one that pi answers for itself is withdrawn from the handler', async () => {
    const withdrawn = Promise.withResolvers<unknown>();
    const pi = await world.start({
      extension: ASKING,
      onDialog: (_dialog, signal) =>
        new Promise(() => signal.addEventListener('abort', () => withdrawn.resolve(signal.reason))),
    });
    await pi.client.prompt('/ask hasty').accepted;
    expect(told(pi)).toEqual([['hasty', null]]);
    expect(await withdrawn.promise).toMatchObject({ message: 'pi has answered for itself' });
    expect(pi.client.dialogs()).toEqual([]);
  });

  it('J5: a handler that fails, or answers another kind, cancels and is reported', async () => {
    const pi = await world.start({
      extension: ASKING,
      onDialog: ({ method }) =>
        method === 'input' ? Promise.reject(new Error('no way')) : Promise.resolve({ value: 'yes' }),
    });
    await pi.client.prompt('/ask input confirm').accepted;
    expect(told(pi)).toEqual([
      ['input', null],
      ['confirm', false],
    ]);
    const problems = pi.events.flatMap((event) => (event.type === 'problem' ? [event.error.message] : []));
    expect(problems).toEqual([
      'a dialog (input) was cancelled: its handler failed: no way',
      'a dialog (confirm) was cancelled: it was given an answer of another kind',
    ]);
  });

  it('J6: an abort cancels the dialog that a tool waits for', async () => {
    world.model.callBash('run something', 'echo hi', 'never said');
    const pi = await world.start({ extension: ASKING, onDialog: () => new Promise(() => {}) });
    const { outcome } = pi.client.prompt('run something');
    await until('the dialog', () => pi.client.dialogs().length === 1);
    await pi.client.abort();
    expect(await outcome).toMatchObject({ kind: 'aborted' });
  });
});
