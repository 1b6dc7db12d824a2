/** A helper container that works on one volume of ours, as its owner, for `import` and `export` (S15). */
import type { Readable } from 'node:stream';
import type { Engine } from '../../../engine/index.ts';
import { LimitError, OperationError } from '../../../lib/errors.ts';
import { TRANSFER_VERSION, TransferMessage, type TransferRequest } from '../../../wire/index.ts';
import type { Config } from '../../config/index.ts';
import { useHelper } from '../volumes.ts';

const ROOT = '/volumes/target';
/** Sign-ins are three files of at most 1 MiB, which JSON may double and more. */
const MAX_ANSWER = 16 * 1024 * 1024;

const AS_OWNER = `
owner=$(stat -c '%u:%g' ${ROOT}) || exit 1
exec setpriv --reuid="\${owner%:*}" --regid="\${owner#*:}" --clear-groups --inh-caps=-all \\
  /usr/local/bin/node /opt/pi-sandbox/transfer.mjs "$1"
`;

export interface MovingScene {
  readonly engine: Engine;
  readonly config: Config;
  /** The current image's name. */
  readonly image: string;
}

export type VolumeRequest = WithoutPlace<TransferRequest>;
type WithoutPlace<T> = T extends unknown ? Omit<T, 'version' | 'root'> : never;

/**
 * Asks it, with bytes for its standard input.
 *
 * @throws OperationError with what it says
 */
export async function askVolume(
  { engine, config, image }: MovingScene,
  volume: string,
  request: VolumeRequest,
  input?: AsyncIterable<Uint8Array>,
): Promise<TransferMessage> {
  const { value, end } = await useHelper(
    engine,
    {
      sandbox: { config },
      image,
      user: '0:0',
      capabilities: ['SETUID', 'SETGID'],
      command: [
        '/bin/sh',
        '-c',
        AS_OWNER,
        'transfer',
        JSON.stringify({ version: TRANSFER_VERSION, root: ROOT, ...request }),
      ],
      mounts: [{ type: 'volume', source: volume, target: ROOT, readOnly: request.verb === 'send-sign-ins' }],
      ...(input === undefined ? {} : { input }),
    },
    textOf,
  );
  const answer = parse(value);
  if (answer?.step === 'failed') throw new OperationError(answer.message, { hint: answer.hint });
  if (answer !== undefined) return answer;
  const why = end.error ?? end.stderr.trim();
  throw new OperationError(
    `a helper container ended with ${end.code} before it was done${why === '' ? '' : `: ${why}`}`,
    { hint: 'what came over stays; the same command again does the rest' },
  );
}

function parse(text: string): TransferMessage | undefined {
  try {
    return TransferMessage.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

async function textOf(stdout: Readable): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of stdout) {
    pieces.push(Buffer.from(piece));
    length += piece.length;
    if (length > MAX_ANSWER) throw new LimitError('a helper container answered with too much');
  }
  return Buffer.concat(pieces).toString('utf8');
}
