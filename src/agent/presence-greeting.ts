/** What a presence says to the supervisor (S14). A file of its own: loaded in a sandbox only, and of the wire no more than this. */
import { encodeFrame, PROTOCOL } from '../wire/index.ts';

/** What lives: an open Session by its id, a job or a run by its directory. */
export interface LivingHere {
  kind: 'session' | 'job' | 'run';
  id: string;
  name?: string | undefined;
}

export function presenceGreeting({ kind, id, name }: LivingHere, token: string): Buffer {
  const hello = { protocol: PROTOCOL, version: 'presence', token };
  const open = { verb: 'presence' as const, kind, id, pid: process.pid, ...(name !== undefined && { name }) };
  return Buffer.concat([
    ...encodeFrame({ type: 'hello', value: hello }),
    ...encodeFrame({ type: 'open', value: open }),
  ]);
}
