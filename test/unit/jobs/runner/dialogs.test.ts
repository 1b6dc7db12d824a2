import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type HeldJob, runJob } from '../../../../src/jobs/index.ts';
import { answerFor } from '../../../../src/jobs/runner/questions.ts';
import { ask, watchUntil } from '../../../setup/job-socket.ts';
import { fileOf, type JobWorld, jobWorld } from '../../../setup/job-world.ts';

let world: JobWorld;
let asking: string[];
beforeAll(async () => {
  world = await jobWorld();
  asking = world.extension(`export default (pi) => {
    pi.on('tool_call', async (event, ctx) => {
      const fine = await ctx.ui.confirm('Really?', String(event.input.command));
      if (!fine) return { block: true, reason: 'not allowed' };
    });
    pi.registerCommand('pick', { handler: async (_, ctx) => {
      const choice = await ctx.ui.select('Which?', ['red', 'blue']);
      const name = await ctx.ui.input('Name?', 'a name');
      ctx.ui.notify('picked ' + choice + ' ' + name);
    } });
  };`);
});
afterAll(() => world.stop());

function log({ directory }: HeldJob): string {
  return (fileOf(directory, 'progress.log') ?? '').replace(/^\S+ /gm, '');
}

const waits = (text: string): boolean => text === 'status waiting';

describe('dialogs (J5)', () => {
  it('J5: are cancelled where nobody is there, and that is told', async () => {
    world.model.callBash('delete', 'true', 'it was refused');
    const held = await world.hold('alone', 'delete it', { piArgs: asking });
    expect(await runJob(held, world.options)).toMatchObject({ status: 'done' });
    expect(log(held)).toContain('dialog confirm "Really?" (true) is cancelled: nobody is there to answer');
    expect(log(held)).toContain('error bash: not allowed');
  });

  it('J5: wait for an answer where it is asked for, and the run goes on with it', async () => {
    world.model.callBash('remove', 'echo gone', 'it is removed');
    const held = await world.hold('asked', 'remove it', { piArgs: asking, ask: true });
    const running = runJob(held, world.options);
    await watchUntil(held, waits);
    expect(fileOf(held.directory, 'status')).toBe('waiting');
    expect(await ask(held, { version: 1, op: 'state' })).toMatchObject({
      state: { status: 'waiting', dialogs: [{ method: 'confirm', title: 'Really?', message: 'echo gone' }] },
    });
    expect(await ask(held, { version: 1, op: 'answer', value: 'perhaps' })).toMatchObject({
      error: { code: 'bad-answer' },
    });
    expect(await ask(held, { version: 1, op: 'answer', value: 'yes' })).toEqual({ ok: true });
    expect(await running).toMatchObject({ status: 'done' });
    expect(log(held)).toContain('is answered: yes');
    expect(log(held)).not.toContain('not allowed');
  });

  it('J5: of a slash command are answered one after the other; without a run it is a failure', async () => {
    const held = await world.hold('pick', '/pick', { piArgs: asking, ask: true });
    const running = runJob(held, world.options);
    await watchUntil(held, waits);
    expect(await ask(held, { version: 1, op: 'answer', value: '2' })).toEqual({ ok: true });
    await watchUntil(held, (text) => text.startsWith('dialog input') || waits(text));
    await expect
      .poll(async () => (await ask(held, { version: 1, op: 'answer', value: 'Ada' }))?.ok, { timeout: 5_000 })
      .toBe(true);
    expect(await running).toMatchObject({ status: 'failed', reason: expect.stringMatching(/^no-message/) });
    expect(log(held)).toContain('note picked blue Ada');
  });

  it('J5: an abort closes them', async () => {
    world.model.callBash('wipe', 'true', 'never');
    const held = await world.hold('closed', 'wipe it', { piArgs: asking, ask: true });
    const running = runJob(held, world.options);
    await watchUntil(held, waits);
    expect(await ask(held, { version: 1, op: 'abort' })).toEqual({ ok: true, status: 'aborted' });
    await running;
    expect(log(held)).toContain('is closed without an answer');
  });

  it('J5: the time of the run bounds how long one waits', async () => {
    world.model.callBash('erase', 'true', 'never');
    const held = await world.hold('bounded', 'erase', { piArgs: asking, ask: true, timeoutSeconds: 2 });
    expect(await runJob(held, world.options)).toMatchObject({ status: 'timed-out' });
  });

  it('J5: an answer to none is told so', async () => {
    world.model.callBash('quiet', 'sleep 100', 'never');
    const held = await world.hold('none', 'quiet now');
    const running = runJob(held, world.options);
    await watchUntil(held, (text) => text.startsWith('tool'));
    const answer = await ask(held, { version: 1, op: 'answer', dialog: 'x', value: 'yes' });
    expect(answer).toMatchObject({ error: { code: 'no-dialog' } });
    await ask(held, { version: 1, op: 'kill' });
    await running;
  });
});

describe('what an answer means (J5)', () => {
  const dialog = (method: 'confirm' | 'select' | 'input', options?: string[]) => ({
    id: '1',
    title: '',
    method,
    ...(options && { options }),
  });

  it.each([
    ['yes', true],
    ['Y', true],
    ['true', true],
    ['no', false],
    ['FALSE', false],
  ])('J5: %s in confirm', (value, confirmed) => {
    expect(answerFor(dialog('confirm'), value)).toEqual({ confirmed });
  });

  it('J5: an option by its text or its number, and its text goes first', () => {
    expect(answerFor(dialog('select', ['a', 'b']), '2')).toEqual({ value: 'b' });
    expect(answerFor(dialog('select', ['2', '1']), '2')).toEqual({ value: '2' });
    expect(answerFor(dialog('select', ['a', 'b']), '3')).toMatch(/one of the 2 options/);
  });

  it('J5: any text for input', () => {
    expect(answerFor(dialog('input'), '')).toEqual({ value: '' });
  });
});
