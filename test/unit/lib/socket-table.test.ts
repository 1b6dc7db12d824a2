import { endianness } from 'node:os';
import { describe, expect, it } from 'vitest';
import { addressOf, plainAddress, socketRows } from '../../../src/lib/socket-table.ts';

const TABLE = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 41235 1 0 100 0 0 10 0
   1: 0100007F:D431 0100007F:0BB8 01 00000000:00000000 00:00000000 00000000  1001        0 41236 1 0 20 4 0 10 -1
`;

describe('the kernel’s socket tables', () => {
  it('S14: a row has both ends, state, user and inode; the heading and a torn line are none', () => {
    expect([...socketRows(`${TABLE}   2: 0100007F:D4`)]).toEqual([
      {
        local: { hex: '0100007F', port: 3000 },
        remote: { hex: '00000000', port: 0 },
        state: '0A',
        uid: 1000,
        inode: '41235',
      },
      {
        local: { hex: '0100007F', port: 54_321 },
        remote: { hex: '0100007F', port: 3000 },
        state: '01',
        uid: 1001,
        inode: '41236',
      },
    ]);
  });

  it.runIf(endianness() === 'LE').each([
    ['0100007F', '127.0.0.1'],
    ['00000000', '0.0.0.0'],
    ['00000000000000000000000001000000', '::1'],
    ['00000000000000000000000000000000', '::'],
    ['B80D0120000000000000000001000000', '2001:db8::1'],
    ['0000000000000000FFFF00000100007F', '127.0.0.1'],
  ])('S14: %s is %s', (hex, address) => {
    expect(addressOf(hex)).toBe(address);
  });

  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['::ffff:127.0.0.1', '127.0.0.1'],
    ['::ffff:c0a8:1ff', '192.168.1.255'],
    ['fe80::1%eth0', 'fe80::1'],
    ['0:0:0:0:0:0:0:1', '::1'],
  ])('S14: %s is written %s', (address, plain) => {
    expect(plainAddress(address)).toBe(plain);
  });
});
