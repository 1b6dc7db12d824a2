/** Random names. The source of randomness is handed in where a test needs the same names again. */
import { randomBytes } from 'node:crypto';

export type RandomSource = (bytes: number) => Uint8Array;

/** `bytes` random bytes in lower-case hexadecimal; 16 bytes make a name that nobody guesses or meets twice. */
export function randomId(bytes = 16, random: RandomSource = randomBytes): string {
  return Buffer.from(random(bytes)).toString('hex');
}
