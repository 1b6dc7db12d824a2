/** Whose a connection to a loopback port of ours is: other users of this machine must not use our forwards (S14). */
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

/**
 * False when the kernel says that another user made the connection. Only Linux tells; elsewhere a forwarded port is open
 * to every user of the machine, as with ssh and docker.
 */
export async function isOwnPeer(
  socket: Socket,
  allowed: ReadonlySet<number>,
  proc = '/proc',
): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const { remoteAddress = '', remotePort = 0, localPort = 0 } = socket;
  const wanted = `${endOf(remoteAddress, remotePort)} `;
  for (const [table, width] of [
    ['tcp', 8],
    ['tcp6', 32],
  ] as const) {
    const text = await readFile(`${proc}/net/${table}`, 'latin1').catch(() => '');
    for (const line of text.split('\n')) {
      const fields = line.trim().split(/\s+/);
      // The peer's own row: its local end is our remote one.
      const [local = '', remote = ''] = [fields[1], fields[2]];
      if (local.length < width || !`${local.slice(-13)} `.endsWith(wanted)) continue;
      if (Number.parseInt(remote.split(':')[1] ?? '', 16) !== localPort) continue;
      // Without an inode no process has it open any more, and the kernel says root whosever it was.
      return fields[9] !== '0' && allowed.has(Number(fields[7]));
    }
  }
  return false;
}

/** An IPv4 address and port as the kernel's tables end a field with: `0100007F:1F90`. */
function endOf(address: string, port: number): string {
  const bytes = Buffer.from(
    address
      .replace(/^::ffff:/, '')
      .split('.')
      .map(Number),
  ).reverse();
  return `${bytes.toString('hex').toUpperCase()}:${port.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** The user of this command, and under sudo the one who called it. */
export function ownUsers(env: NodeJS.ProcessEnv = process.env): Set<number> {
  const own = process.getuid?.() ?? 0;
  const sudo = own === 0 ? Number(env.SUDO_UID ?? '') : Number.NaN;
  return new Set(Number.isInteger(sudo) && env.SUDO_UID !== '' ? [own, sudo] : [own]);
}
