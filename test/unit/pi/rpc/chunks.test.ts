import { PassThrough, Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/lib/clock.ts';
import { openPiRpc, type PiEvent, type PiExit, type PiProcess } from '../../../../src/pi/index.ts';

const LINES = [
  '{"type":"agent_start"}',
  '{"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"a\u2028b\u2029ü€😀"}}',
  '{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"é"}],"stopReason":"stop"}}',
  '{"type":"agent_dreams"}',
  '{"type":"response","id":"r9","command":"bash","success":true}',
  'no json',
  '',
  `{"type":"notice","text":"${'x'.repeat(300)}"}`,
];

/** A pi that has written these chunks and ended. */
function writtenBy(chunks: Buffer[]): PiProcess {
  const stdout = Readable.from(chunks, { objectMode: false });
  const ended = new Promise<PiExit>((resolve) =>
    stdout.once('end', () => resolve({ code: 0, signal: null })),
  );
  return { pid: 1, stdin: new PassThrough(), stdout, stderr: new PassThrough(), signal() {}, ended };
}

async function eventsIn(chunks: Buffer[]): Promise<unknown[]> {
  const events: PiEvent[] = [];
  const client = openPiRpc(writtenBy(chunks), {
    clock: systemClock,
    ids: () => 'r1',
    onEvent: (event) => void events.push(event),
    limits: { lineBytes: 200 },
  });
  await client.ended;
  return events.map((event) => (event.type === 'problem' ? event.error.message : event));
}

describe('the stream of events', () => {
  it('J4: is the same however its bytes are cut into chunks', async () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...LINES), { minLength: 1, maxLength: 8 }),
        cuts,
        async (lines, sizes) => {
          const bytes = Buffer.from(`${lines.join('\n')}\n`);
          const chunks: Buffer[] = [];
          for (let at = 0, i = 0; at < bytes.length; i++) {
            const size = sizes[i % sizes.length] ?? 1;
            chunks.push(bytes.subarray(at, at + size));
            at += size;
          }
          expect(await eventsIn(chunks)).toEqual(await eventsIn([bytes]));
        },
      ),
      { numRuns: 100, seed: 3 },
    );
  });

  it('J4: has each line once, in order, with what is damaged named', async () => {
    expect(await eventsIn([Buffer.from(LINES.join('\n'))])).toMatchObject([
      { type: 'agent_start' },
      { type: 'message_update', assistantMessageEvent: { delta: 'a\u2028b\u2029ü€😀' } },
      { type: 'message_end', message: { role: 'assistant', stopReason: 'stop' } },
      { type: 'unknown', name: 'agent_dreams' },
      'pi wrote what is not its protocol: an answer that nobody waits for (bash)',
      expect.stringMatching(/^pi wrote what is not its protocol: not JSON/),
      'pi wrote a line longer than 200 bytes; it is skipped',
    ]);
  });
});
