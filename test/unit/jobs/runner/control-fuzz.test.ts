import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseNotice, parseRequest, runJob } from '../../../../src/jobs/index.ts';
import { ask, connectJob, watchUntil } from '../../../setup/job-socket.ts';
import { type JobWorld, jobWorld } from '../../../setup/job-world.ts';

let world: JobWorld;
beforeAll(async () => {
  world = await jobWorld();
});
afterAll(() => world.stop());

const operation = fc.constantFrom('steer', 'follow-up', 'answer', 'state', 'dance', '', '__proto__');
/** Nearly a request: the right fields with whatever in them. `abort`, `kill` and `watch` do what they say. */
const almost = fc.record(
  {
    version: fc.oneof(fc.constant(1), fc.jsonValue()),
    op: fc.oneof(operation, fc.jsonValue()),
    text: fc.jsonValue(),
    value: fc.jsonValue(),
    dialog: fc.jsonValue(),
  },
  { requiredKeys: [] },
);
const line = fc.oneof(
  fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\n', ' ')),
  fc.jsonValue().map((value) => JSON.stringify(value)),
  almost.map((value) => JSON.stringify(value)),
);

describe('whatever is said to a job (J9)', () => {
  it('J9: is a request of the protocol or none, and never an error of the reader', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), almost), (value) => {
        const request = parseRequest(value);
        return (request === undefined || request.version === 1) && parseNotice(value) === undefined;
      }),
    );
  });

  it('J9: leaves its runner up, and each line that is one gets one answer', { timeout: 60_000 }, async () => {
    world.model.callBash('fuzz', 'sleep 100', 'awake');
    const held = await world.hold('fuzz', 'fuzz');
    const running = runJob(held, world.options);
    await watchUntil(held, (text) => text.startsWith('tool'));
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 8 }), async (lines) => {
        const connection = await connectJob(held);
        connection.send(`${lines.join('\n')}\n`);
        const asked = lines.filter((each) => each.trim() !== '');
        for (const each of asked) {
          expect(await connection.next(), each).toHaveProperty('ok');
        }
        connection.socket.destroy();
      }),
      { numRuns: 25 },
    );
    expect(await ask(held, { version: 1, op: 'state' })).toMatchObject({
      ok: true,
      state: { status: 'running' },
    });
    await ask(held, { version: 1, op: 'kill' });
    await expect(running).resolves.toMatchObject({ status: 'killed' });
  });
});
