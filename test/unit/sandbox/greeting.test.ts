import { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { open, SandboxRefusedError } from '../../../src/cli/sandbox/greeting.ts';
import { encodeFrame, type Frame } from '../../../src/wire/frame.ts';
import { PROTOCOL } from '../../../src/wire/index.ts';

vi.stubGlobal('PI_SANDBOX_VERSION', '0.0.0');

/** What `open` makes of a sandbox that says `frames` and then keeps silent. */
function opened(frames: readonly Frame[], answerMs = 10_000) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.resume();
  for (const frame of frames) for (const part of encodeFrame(frame)) stdout.write(part);
  const streams = {
    stdin,
    stdout,
    stderr,
    ended: Promise.resolve({ outcome: 'ended' as const }),
    disconnect: () => stdout.destroy(),
  };
  const request = { verb: 'status' } as const;
  return { stdout, greeting: open(streams, 'token', { request, onStatus: () => undefined }, answerMs) };
}

const HELLO: Frame = { type: 'hello', value: { protocol: PROTOCOL, version: '0' } };

describe('a sandbox that is spoken for by something hostile in it', () => {
  it('S14: silence ends in one clear line, and in an end of the connection', async () => {
    const { stdout, greeting } = opened([HELLO], 20);
    await expect(greeting).rejects.toMatchObject({
      message: expect.stringContaining('did not answer'),
      exitCode: 3,
    });
    expect(stdout.destroyed).toBe(true);
  });

  it.each([0, -1, 256, 2 ** 40])('S14: a no with exit code %s is still a failure', async (exitCode) => {
    const { stdout, greeting } = opened([
      HELLO,
      { type: 'reply', value: { answer: 'refused', message: 'no', exitCode } },
    ]);
    const error: unknown = await greeting.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SandboxRefusedError);
    expect(error).toMatchObject({ exitCode: 1 });
    expect(stdout.destroyed).toBe(true);
  });

  it('S14: another protocol is refused, and the connection is not kept', async () => {
    const { stdout, greeting } = opened([{ type: 'hello', value: { protocol: PROTOCOL + 1, version: '9' } }]);
    await expect(greeting).rejects.toThrow('cannot talk to');
    expect(stdout.destroyed).toBe(true);
  });
});
