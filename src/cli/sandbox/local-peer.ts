/** Whose a connection to a loopback port of ours is: other users of this machine must not use our forwards (S14). */
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { addressOf, plainAddress, socketRows } from '../../lib/socket-table.ts';

interface End {
  readonly address: string;
  readonly port: number;
}

/** A connection as this process has it. */
export interface Connection {
  readonly own: End;
  readonly peer: End;
}

/**
 * False when the kernel says that another user made the connection. Only Linux tells; elsewhere a forwarded port is open
 * to every user of the machine, as with ssh and docker.
 */
export async function isOwnPeer(socket: Socket, allowed: ReadonlySet<number>): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  // It has ended meanwhile, and nobody is left to be let in.
  if (localAddress === undefined || localPort === undefined) return false;
  if (remoteAddress === undefined || remotePort === undefined) return false;
  const connection = {
    own: { address: localAddress, port: localPort },
    peer: { address: remoteAddress, port: remotePort },
  };
  // A program may use an IPv6 socket for an IPv4 address.
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    const owner = peerOwner(await readFile(table, 'latin1').catch(() => ''), connection);
    if (owner !== undefined) return allowed.has(owner);
  }
  return false;
}

/**
 * The uid that has the far end of a connection, by a table of the kernel's; undefined when the table does not have it,
 * or when no process has it open any more.
 */
export function peerOwner(table: string, { own, peer }: Connection): number | undefined {
  const [ownAddress, peerAddress] = [plainAddress(own.address), plainAddress(peer.address)];
  for (const { local, remote, uid, inode } of socketRows(table)) {
    // The peer's own row: its local end is our remote one.
    if (local.port !== peer.port || remote.port !== own.port) continue;
    if (addressOf(local.hex) !== peerAddress || addressOf(remote.hex) !== ownAddress) continue;
    // Without an inode the kernel says root, whosever it was.
    return inode === '0' ? undefined : uid;
  }
  return undefined;
}

/** The user of this command, and under sudo the one who called it. */
export function ownUsers(env: NodeJS.ProcessEnv = process.env): Set<number> {
  const own = process.getuid?.() ?? 0;
  const sudo = own === 0 ? Number(env.SUDO_UID ?? '') : Number.NaN;
  return new Set(Number.isInteger(sudo) && env.SUDO_UID !== '' ? [own, sudo] : [own]);
}
