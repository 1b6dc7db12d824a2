import { Duplex } from 'node:stream';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  FrameConnection,
  INPUT_WINDOW_BYTES,
  InputCredit,
  InputLedger,
  sendInput,
  WireError,
} from '../../../src/wire/index.ts';

const never = new Promise<never>(() => {});

function streamPair(): [Duplex, Duplex] {
  const sides: Duplex[] = [];
  const side = (other: () => Duplex | undefined): Duplex =>
    new Duplex({
      read() {},
      write(chunk, _encoding, done) {
        other()?.push(chunk);
        done();
      },
      final(done) {
        other()?.push(null);
        done();
      },
    });
  const first = side(() => sides[1]);
  const second = side(() => sides[0]);
  sides.push(first, second);
  return [first, second];
}

describe('credit for standard input', () => {
  it('rule 7: never more than the window is unacknowledged', async () => {
    const credit = new InputCredit(never, 100);
    expect(credit.take(60)).toBe(60);
    expect(credit.take(60)).toBe(40);
    expect(credit.take(1)).toBe(0);
    const available = credit.available();
    credit.acknowledge(10);
    expect(await available).toBe(true);
    expect(credit.take(60)).toBe(10);
  });

  it('H2: an ack for what was never sent is a WireError', () => {
    const credit = new InputCredit(never, 100);
    credit.take(5);
    expect(() => credit.acknowledge(6)).toThrow(WireError);
  });

  it('S14: nobody waits for credit of a connection that has ended', async () => {
    let close = (): void => {};
    const credit = new InputCredit(
      new Promise<void>((resolve) => {
        close = resolve;
      }),
      10,
    );
    credit.take(10);
    const available = credit.available();
    close();
    expect(await available).toBe(false);
    expect(credit.take(1)).toBe(0);
  });

  it('rule 7: a client that ignores its credit is refused', () => {
    const ledger = new InputLedger(100);
    ledger.received(100);
    expect(() => ledger.received(1)).toThrow(WireError);
  });

  it('S14: acks are few, and a client never runs dry waiting for one', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 64 }), { minLength: 1, maxLength: 60 }), (chunks) => {
        const credit = new InputCredit(never, 100);
        const ledger = new InputLedger(100);
        for (const chunk of chunks) {
          for (let left = chunk; left > 0; ) {
            const granted = credit.take(left);
            expect(granted).toBeGreaterThan(0);
            ledger.received(granted);
            const ack = ledger.consumed(granted);
            if (ack > 0) credit.acknowledge(ack);
            left -= granted;
          }
        }
      }),
      { seed: 7, numRuns: 200 },
    );
  });

  it('S14: input of several windows passes through a reader that acknowledges as it reads', async () => {
    const [near, far] = streamPair();
    const client = new FrameConnection(near);
    const peer = new FrameConnection(far);
    const credit = new InputCredit(client.closed);
    const ledger = new InputLedger();
    let waiting = 0;
    let most = 0;
    let total = 0;
    client.onFrame((frame) => {
      if (frame.type === 'ack') credit.acknowledge(frame.consumed);
    });
    peer.onFrame((frame) => {
      if (frame.type !== 'data') return;
      ledger.received(frame.bytes.length);
      waiting += frame.bytes.length;
      total += frame.bytes.length;
      most = Math.max(most, waiting);
      setImmediate(() => {
        waiting -= frame.bytes.length;
        const consumed = ledger.consumed(frame.bytes.length);
        if (consumed > 0) peer.send({ type: 'ack', consumed });
      });
    });
    expect(await sendInput(client, credit, Buffer.alloc(5 * INPUT_WINDOW_BYTES + 17))).toBe(true);
    await client.end();
    expect(await peer.closed).toBe('clean');
    expect(total).toBe(5 * INPUT_WINDOW_BYTES + 17);
    expect(most).toBeLessThanOrEqual(INPUT_WINDOW_BYTES);
  });
});
