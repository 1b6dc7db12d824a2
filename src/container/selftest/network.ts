/** Which networks this sandbox has, and what it reaches over them. */
import { Resolver } from 'node:dns/promises';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import type { SelftestFacts } from '../../wire/index.ts';
import { codeOf } from './file-system.ts';

/** Nothing listens there: what can be reached says so at once, and what is cut off says nothing. */
const PORT = 9;
const CONNECT_MS = 1_500;
const RESOLVE_MS = 3_000;

export function interfaces(): string[] {
  return readdirSync('/sys/class/net').slice(0, 100);
}

/** How a connection to each address ended: an answer of any kind, also a refusal, means that it is reached. */
export async function connections(addresses: readonly string[]): Promise<SelftestFacts['connections']> {
  return Object.fromEntries(
    await Promise.all(addresses.map(async (address) => [address, await outcomeOf(address)] as const)),
  );
}

function outcomeOf(address: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect({ host: address, port: PORT });
  const timer = setTimeout(() => resolve('silence'), CONNECT_MS);
  socket.once('connect', () => resolve('connected')).once('error', (error) => resolve(codeOf(error)));
  return promise.finally(() => {
    clearTimeout(timer);
    socket.destroy();
  });
}

/** That there is no such name is an answer too. */
export async function resolver(name: string): Promise<SelftestFacts['resolver']> {
  const asked = new Resolver({ timeout: RESOLVE_MS, tries: 1 });
  const servers = asked.getServers().slice(0, 100);
  try {
    await asked.resolve4(name);
    return { servers, answer: 'answers' };
  } catch (error) {
    const code = codeOf(error);
    return { servers, answer: code === 'ENOTFOUND' || code === 'ENODATA' ? 'answers' : code };
  }
}
