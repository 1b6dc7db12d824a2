/** The kernel's tables of TCP sockets, `/proc/net/tcp` and `tcp6`: what their fields mean. */
import { isIPv4 } from 'node:net';
import { endianness } from 'node:os';

/** The kernel's number for a socket that takes connections. */
export const LISTENING = '0A';

/** One end of a socket; its address as the table has it, for {@link addressOf}. */
export interface TableEnd {
  readonly hex: string;
  readonly port: number;
}

export interface SocketRow {
  readonly local: TableEnd;
  readonly remote: TableEnd;
  /** Two hexadecimal digits, such as {@link LISTENING}. */
  readonly state: string;
  readonly uid: number;
  /** `0` when no process has it open any more; the uid is then 0, whosever it was. */
  readonly inode: string;
}

/** Every row of a table; its heading, and what is no row, is passed over. */
export function* socketRows(table: string): Generator<SocketRow, void, undefined> {
  for (const line of table.split('\n')) {
    const [, local = '', remote = '', state = '', , , , uid = '', , inode = ''] = line.trim().split(/\s+/);
    const [own, other] = [endOf(local), endOf(remote)];
    if (own === undefined || other === undefined) continue;
    yield { local: own, remote: other, state, uid: Number(uid), inode };
  }
}

function endOf(field: string): TableEnd | undefined {
  const [, hex, port] = /^([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4})$/.exec(field) ?? [];
  return hex === undefined || port === undefined ? undefined : { hex, port: Number.parseInt(port, 16) };
}

/** The address as {@link plainAddress} writes it. The table has words of four bytes, each in the machine's own order. */
export function addressOf(hex: string): string {
  const bytes = Buffer.from(hex, 'hex');
  if (endianness() === 'LE') bytes.swap32();
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(at * 2).toString(16));
  return plainAddress(groups.join(':'));
}

/** One way to write an address: without a zone, IPv6 in its shortest form, and an IPv4 address in IPv6 as itself. */
export function plainAddress(address: string): string {
  if (isIPv4(address)) return address;
  // The URL parser knows how to shorten an IPv6 address.
  const short = new URL(`http://[${address.replace(/%.*$/s, '')}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(short) ?? [];
  if (high === undefined || low === undefined) return short;
  return [high, low]
    .flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255])
    .join('.');
}
