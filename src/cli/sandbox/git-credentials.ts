/**
 * Answers a sandbox's git with the user's own credential helpers (S10): one question at a time, for the host names that
 * the user allowed, and nothing is stored in the sandbox.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { Duplex, PassThrough } from 'node:stream';
import { readRegularFile } from '../../lib/bounded-read.ts';
import { OperationError } from '../../lib/errors.ts';
import type { CanonicalPath } from '../config/index.ts';
import { gitConfigKeys } from './git-config.ts';
import { gitCommonDirectory } from './project-git.ts';

/** A helper may ask the user something in a window of its own; git in the sandbox waits as long. */
const HELPER_MS = 60_000;
/** Helpers of the user's that run at the same time; a sandbox that asks more waits for none (rule 7). */
const MAX_RUNNING = 8;
let running = 0;
const MAX_QUESTION_BYTES = 8 * 1024;
const MAX_CONFIG_BYTES = 256 * 1024;
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
export function answerQuestion(allowed: readonly string[], env: NodeJS.ProcessEnv): Duplex {
  const question = new PassThrough();
  const answer = new PassThrough();
  void readQuestion(question)
    .then((text) => fill(parseQuestion(text), allowed, env))
    .then(
      (text) => answer.end(text),
      (error: unknown) => answer.destroy(error instanceof Error ? error : new OperationError(String(error))),
    );
  return Duplex.from({ writable: question, readable: answer });
}

async function readQuestion(stream: PassThrough): Promise<string> {
  let text = '';
  for await (const chunk of stream) {
    text += String(chunk);
    if (text.length > MAX_QUESTION_BYTES) throw new OperationError('the question is too long');
    // git closes its end only when it has its answer.
    if (text.includes('\n\n')) break;
  }
  return text;
}

function fill(
  { protocol, host, username }: CredentialQuestion,
  allowed: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<string> {
  if (!isAllowed(host, allowed)) throw new OperationError(`${host} is not among the allowed hosts`);
  if (running >= MAX_RUNNING) throw new OperationError('too many questions at once');
  const clean = Object.entries(env).filter(([name]) => !/^GIT_(?!CONFIG_GLOBAL$|CONFIG_SYSTEM$)/.test(name));
  running++;
  return new Promise<string>((resolve, reject) => {
    const child = execFile(
      'git',
      ['credential', 'fill'],
      {
        // In no repository, and without a question on a terminal or in a window of git's own: only helpers answer.
        cwd: '/',
        env: {
          ...Object.fromEntries(clean),
          GIT_TERMINAL_PROMPT: '0',
          GIT_ASKPASS: '',
          GIT_DIR: '/dev/null',
        },
        timeout: HELPER_MS,
        maxBuffer: 64 * 1024,
      },
      (error, stdout) => {
        if (error) reject(new OperationError(`no helper of the user's has credentials for ${host}`));
        else
          resolve(
            `${stdout
              .split('\n')
              .filter((line) => ANSWERED.test(line))
              .join('\n')}\n`,
          );
      },
    );
    child.stdin?.on('error', () => undefined);
    const user = username === undefined ? '' : `username=${username}\n`;
    child.stdin?.end(`protocol=${protocol}\nhost=${host}\n${user}\n`);
  }).finally(() => {
    running--;
  });
}

/**
 * The hosts of a project's remotes: whom `--git-credentials` relays for when the configuration names nobody. A session
 * can change them, so they are read before each start, and the start says which they are.
 */
export async function remoteHosts(project: CanonicalPath): Promise<string[]> {
  const outside = await gitCommonDirectory(project).catch(() => undefined);
  const git = outside !== undefined && 'directory' in outside ? outside.directory : join(project, '.git');
  const content = await readRegularFile(join(git, 'config'), {
    maxBytes: MAX_CONFIG_BYTES,
    within: git,
  }).catch(() => undefined);
  if (content === undefined) return [];
  const urls = gitConfigKeys(content.toString('utf8'))
    .filter(([key]) => /^remote\..*\.(url|pushurl)$/s.test(key))
    .flatMap(([, values]) => values.split('\n'));
  const hosts = urls.flatMap((url) => {
    const match = /^"?https?:\/\/(?:[^/@\s]*@)?([A-Za-z0-9.-]+(?::\d{1,5})?)(?:\/|"?$)/.exec(url.trim());
    return match?.[1] === undefined ? [] : [match[1].toLowerCase()];
  });
  return [...new Set(hosts)].sort();
}
