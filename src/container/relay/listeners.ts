import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { addressOf, LISTENING, socketRows } from '../../lib/socket-table.ts';
import type { Listeners } from '../../wire/index.ts';

/** What is listed at most (rule 7). */
const MAX_LISTENERS = 1_000;
const MAX_COMMAND = 200;
/** Docker's name server for a container; it belongs to no process in it and is of no interest to anybody. */
const ENGINE_RESOLVER = '127.0.0.11';

/** The TCP sockets of this network namespace that take connections, each port and address once, by port (S14). */
export function listeners(proc = '/proc'): Listeners {
  const found = ['tcp', 'tcp6'].flatMap((table) => listening(`${proc}/net/${table}`));
  const owners = socketOwners(proc, new Set(found.map(({ inode }) => inode)));
  const seen = new Set<string>();
  return found
    .filter(({ port, address, inode }) => {
      if (address === ENGINE_RESOLVER && !owners.has(inode)) return false;
      const key = `${port} ${address}`;
      return !seen.has(key) && seen.add(key) !== undefined;
    })
    .sort((a, b) => a.port - b.port || a.address.localeCompare(b.address))
    .slice(0, MAX_LISTENERS)
    .map(({ port, address, inode }) => ({ port, address, ...owners.get(inode) }));
}

interface Socket {
  port: number;
  address: string;
  inode: string;
}

function listening(table: string): Socket[] {
  let text: string;
  try {
    text = readFileSync(table, 'latin1');
  } catch {
    return [];
  }
  return [...socketRows(text)]
    .filter(({ local, state }) => state === LISTENING && local.port > 0)
    .map(({ local, inode }) => ({ port: local.port, address: addressOf(local.hex), inode }));
}

/** Which process has which of these sockets open; those of other users cannot be told. */
function socketOwners(
  proc: string,
  inodes: ReadonlySet<string>,
): Map<string, { pid: number; command: string }> {
  const owners = new Map<string, { pid: number; command: string }>();
  if (inodes.size === 0) return owners;
  for (const name of readdirSync(proc)) {
    if (!/^\d+$/.test(name)) continue;
    for (const inode of socketsOf(`${proc}/${name}/fd`)) {
      if (!inodes.has(inode) || owners.has(inode)) continue;
      owners.set(inode, { pid: Number(name), command: commandOf(`${proc}/${name}/cmdline`) });
    }
  }
  return owners;
}

function socketsOf(directory: string): string[] {
  try {
    return readdirSync(directory).flatMap((fd) => {
      try {
        return readlinkSync(`${directory}/${fd}`).match(/^socket:\[(\d+)\]$/)?.[1] ?? [];
      } catch {
        return [];
      }
    });
  } catch {
    return [];
  }
}

function commandOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').split('\0').join(' ').trim().slice(0, MAX_COMMAND);
  } catch {
    return '';
  }
}
