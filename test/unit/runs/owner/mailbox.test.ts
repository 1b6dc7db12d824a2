import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/lib/clock.ts';
import { openLedger } from '../../../../src/runs/owner/ledger.ts';
import { openMailbox } from '../../../../src/runs/owner/messages.ts';
import { storeScene } from '../store-scene.ts';

describe('texts for a step that is just beginning (R3)', () => {
  it('R3: one that is being kept when its job begins is there to be put in', async () => {
    const held = await storeScene().start();
    const ledger = await openLedger(held, { clock: systemClock });
    const mailbox = openMailbox({ held, deps: { clock: systemClock }, ledger });
    const [step] = held.manifest.graph.steps;
    if (step === undefined) throw new Error('there is a step');
    const order: string[] = [];
    const kept = mailbox.send(step.id, 'mind the docs', 'me').then((receipt) => order.push(receipt));
    // What the owner does when the job says that it runs.
    const looked = mailbox.deliver(step).then(() => order.push('looked for'));
    await Promise.all([kept, looked]);
    await ledger.close();
    expect(order).toEqual(['kept', 'looked for']);
  });
});
