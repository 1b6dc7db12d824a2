import { stat } from 'node:fs/promises';
import { platform } from 'node:os';
import type { EngineInfo } from './clients/system.ts';
import type { Endpoint } from './endpoint.ts';

/**
 * Whose rootless engine it is: the host user who is uid 0 in its containers, and whose files only uid 0 in there can
 * own (S2). Undefined for an engine of root's, and where it cannot be known: an engine on another machine maps that
 * machine's users. Asks the engine only when the socket is not root's.
 */
export async function rootlessOwner(
  endpoint: Endpoint,
  info: () => Promise<Pick<EngineInfo, 'rootless'>>,
): Promise<number | undefined> {
  if (endpoint.kind !== 'unix' || platform() !== 'linux') return undefined;
  const socket = await stat(endpoint.socketPath).catch(() => undefined);
  if (socket === undefined || socket.uid === 0) return undefined;
  return (await info()).rootless ? socket.uid : undefined;
}
