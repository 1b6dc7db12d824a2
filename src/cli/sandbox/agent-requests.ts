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
  const header = Buffer.alloc(4);
  // The header, then the request with it: one copy of each byte, in however small pieces they come.
  let request = header;
  let filled = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (let at = 0; at < chunk.length; ) {
        const taken = chunk.copy(request, filled, at);
        at += taken;
        filled += taken;
        if (filled < request.length) break;
        if (request === header) {
          const length = header.readUInt32BE(0);
          if (length < 1 || length > MAX_REQUEST_BYTES)
            return done(new OperationError('that is no request to an SSH agent'));
          request = Buffer.alloc(4 + length);
          header.copy(request);
        } else {
          this.push(usesKeys(request) ? request : REFUSED);
          request = header;
          filled = 0;
        }
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
