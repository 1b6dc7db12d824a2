/** What a sandbox may ask the user's SSH agent (S10): which keys there are, and signatures. */
import { Transform } from 'node:stream';
import { OperationError } from '../../lib/errors.ts';

/** OpenSSH's own limit for one message. */
const MAX_REQUEST_BYTES = 256 * 1024;
const LIST_KEYS = 11;
const SIGN = 13;
const EXTENSION = 27;
/** Ties a connection to one SSH session, which takes rights away and gives none. */
const SESSION_BIND = 'session-bind@openssh.com';
/** A request of a type that no agent has: it answers with a failure, and answers stay in their order. */
const REFUSED = Buffer.from([0, 0, 0, 1, 255]);

/**
 * Lets requests that use keys through and exchanges every other one for one that fails. An agent takes this connection
 * for one of the user's own programs, and would remove or lock keys for it, or load a library into itself (rule 8).
 */
export function onlyUsingKeys(): Transform {
  let waiting: Buffer = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      waiting = Buffer.concat([waiting, chunk]);
      while (waiting.length >= 4) {
        const length = waiting.readUInt32BE(0);
        if (length < 1 || length > MAX_REQUEST_BYTES)
          return done(new OperationError('that is no request to an SSH agent'));
        if (waiting.length < 4 + length) break;
        const request = waiting.subarray(0, 4 + length);
        waiting = waiting.subarray(4 + length);
        this.push(usesKeys(request) ? request : REFUSED);
      }
      done();
    },
  });
}

function usesKeys(request: Buffer): boolean {
  const type = request[4];
  if (type === LIST_KEYS || type === SIGN) return true;
  if (type !== EXTENSION || request.length < 9) return false;
  return request.subarray(9, 9 + request.readUInt32BE(5)).toString('latin1') === SESSION_BIND;
}
