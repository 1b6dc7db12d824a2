/**
 * Answers a sandbox's git with the user's own credential helpers (S10): one question at a time, for the host names that
 * the user allowed, and nothing is stored in the sandbox.
 */
import { Duplex, PassThrough } from 'node:stream';
import { OperationError } from '../../lib/errors.ts';
import { askHelpers, HELPER_MS } from './credential-helper.ts';

const MAX_QUESTION_BYTES = 8 * 1024;
/** What a helper's answer is cut down to. */
const ANSWERED = /^(protocol|host|username|password|password_expiry_utc)=/;

export interface CredentialQuestion {
  readonly protocol: 'https' | 'http';
  /** With its port, if it has one. */
  readonly host: string;
  readonly username?: string;
}

/**
 * Reads git's question: `key=value` lines up to an empty one. Paths and everything else it may hold are left out.
 *
 * @throws OperationError for what is no question that may be passed on
 */
export function parseQuestion(text: string): CredentialQuestion {
  const fields = new Map(
    text.split('\n').map((line): [string, string] => {
      const at = line.indexOf('=');
      return at < 0 ? ['', ''] : [line.slice(0, at), line.slice(at + 1)];
    }),
  );
  const protocol = fields.get('protocol');
  const host = fields.get('host') ?? '';
  const username = fields.get('username');
  if (protocol !== 'https' && protocol !== 'http')
    throw new OperationError('only http and https have passwords');
  if (
    !/^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])(:\d{1,5})?$/.test(host) ||
    host.length > 260
  )
    throw new OperationError('that is no host name');
  if (username === undefined || username === '') return { protocol, host };
  // A control character in a value would let one line look like two to a helper.
  const clean = [...username].every((character) => character >= ' ' && character !== '\u007f');
  if (!clean || username.length > 256) throw new OperationError('that is no user name');
  return { protocol, host, username };
}

/** True when the user allowed this host: by name for any port, or with exactly this port. */
export function isAllowed(host: string, allowed: readonly string[]): boolean {
  const wanted = host.toLowerCase();
  const name = wanted.replace(/:\d+$/, '');
  return allowed.some((entry) => entry.toLowerCase() === wanted || entry.toLowerCase() === name);
}

/** One question and its answer as a stream, which is what a channel of a relay is joined with. */
export function answerQuestion(
  allowed: readonly string[],
  env: NodeJS.ProcessEnv,
  limitMs = HELPER_MS,
): Duplex {
  const question = new PassThrough();
  const answer = new PassThrough();
  void readQuestion(question)
    .then((text) => fill(parseQuestion(text), allowed, env, limitMs))
    .then(
      (text) => answer.end(text),
      (error: unknown) => answer.destroy(error instanceof Error ? error : new OperationError(String(error))),
    );
  return Duplex.from({ writable: question, readable: answer });
}

/** Reads on after the question, for git closes its end later, and a stream let go of before would take its answer along. */
function readQuestion(stream: PassThrough): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    stream.on('data', (chunk) => {
      text += String(chunk);
      if (text.length > MAX_QUESTION_BYTES) stream.destroy(new OperationError('the question is too long'));
      else if (text.includes('\n\n')) resolve(text);
    });
    stream.once('end', () => resolve(text));
    stream.once('error', reject);
    stream.once('close', () => reject(new OperationError('the question was not finished')));
  });
}

async function fill(
  { protocol, host, username }: CredentialQuestion,
  allowed: readonly string[],
  env: NodeJS.ProcessEnv,
  limitMs: number,
): Promise<string> {
  if (!isAllowed(host, allowed)) throw new OperationError(`${host} is not among the allowed hosts`);
  const user = username === undefined ? '' : `username=${username}\n`;
  const answer = await askHelpers(`protocol=${protocol}\nhost=${host}\n${user}\n`, env, limitMs);
  return `${answer
    .split('\n')
    .filter((line) => ANSWERED.test(line))
    .join('\n')}\n`;
}
