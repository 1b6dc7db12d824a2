import { describe, expect, it } from 'vitest';
import { onlyUsingKeys } from '../../../src/cli/sandbox/agent-requests.ts';

const request = (type: number, body = Buffer.alloc(0)): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(1 + body.length);
  return Buffer.concat([length, Buffer.from([type]), body]);
};
const extension = (name: string): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(name.length);
  return request(27, Buffer.concat([length, Buffer.from(name)]));
};

async function passed(...pieces: Buffer[]): Promise<Buffer> {
  const filter = onlyUsingKeys();
  for (const piece of pieces) filter.write(piece);
  filter.end();
  return Buffer.concat(await filter.toArray());
}

describe('S10: what a sandbox may ask the user’s SSH agent', () => {
  it('S10: the keys, a signature, and to be tied to one SSH session, in whatever pieces they come', async () => {
    const all = Buffer.concat([
      request(11),
      request(13, Buffer.alloc(100)),
      extension('session-bind@openssh.com'),
    ]);
    expect(await passed(all)).toEqual(all);
    expect(await passed(...[...all].map((byte) => Buffer.from([byte])))).toEqual(all);
  });

  it.each([
    ['add a key', request(17)],
    ['remove a key', request(18)],
    ['remove all keys', request(19)],
    ['load a library', request(20, Buffer.from('/usr/lib/x.so'))],
    ['load a library with constraints', request(26)],
    ['lock', request(22)],
    ['another extension', extension('other@example.org')],
  ])('rule 8: not to %s', async (_what, asked) => {
    expect(await passed(asked, request(11))).toEqual(Buffer.concat([request(255), request(11)]));
  });

  it('rule 7: the longest request byte by byte, at no greater cost', async () => {
    const longest = request(13, Buffer.alloc(256 * 1024 - 1, 7));
    const filter = onlyUsingKeys();
    for (let at = 0; at < longest.length; at++) filter.write(longest.subarray(at, at + 1));
    filter.end();
    expect(Buffer.concat(await filter.toArray()).equals(longest)).toBe(true);
  });

  it('rule 7: no request that is too long to be one', async () => {
    await expect(passed(Buffer.from([255, 255, 255, 255]))).rejects.toThrow('no request');
  });
});
