import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { addressOf, type Endpoint } from './endpoint.ts';
import { EngineConnectionError } from './errors.ts';

type SshEndpoint = Endpoint & { kind: 'ssh' };

const STDERR_KEPT = 4_096;

/**
 * A connection to an engine on another machine, through the user's own `ssh`, as docker's CLI does it: so that the
 * user's ssh config, jump hosts, agent and, above all, known host keys hold (a library that skips them would give the
 * engine to whoever answers).
 */
export function connectSsh(endpoint: SshEndpoint): Duplex {
  const child = spawn('ssh', sshArguments(endpoint), { stdio: ['pipe', 'pipe', 'pipe'] });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-STDERR_KEPT);
  });
  const address = addressOf(endpoint);
  const duplex = duplexOf(child);
  child.once('error', (error) => {
    duplex.destroy(new EngineConnectionError(address, `engine ${address}: cannot run ssh`, { cause: error }));
  });
  // Not the end of its output but its exit ends the connection: only then is it known whether ssh failed.
  child.once('close', (code) => {
    if (code === 0) duplex.push(null);
    const said = complaint.trim().split('\n').at(-1) ?? '';
    if (code !== 0)
      duplex.destroy(
        new EngineConnectionError(address, `engine ${address}: ssh ended with ${code}: ${said}`),
      );
  });
  return asSocket(duplex, () => [child, child.stdin, child.stdout, child.stderr]);
}

function duplexOf(child: ChildProcessWithoutNullStreams): Duplex {
  const duplex = new Duplex({
    read: () => child.stdout.resume(),
    // A failed write is not told: ssh has ended, and says why in a moment.
    write: (chunk, _encoding, done) => child.stdin.write(chunk, () => done()),
    final: (done) => child.stdin.end(() => done()),
    destroy(error, done) {
      child.kill();
      done(error);
    },
  });
  child.stdout.on('data', (chunk) => {
    if (!duplex.push(chunk)) child.stdout.pause();
  });
  // The exit of ssh tells more than that it no longer reads.
  child.stdin.on('error', () => {});
  return duplex;
}

/** `docker system dial-stdio` also reaches a socket of its own choice, hence no path unless the URL has one. */
export function sshArguments(endpoint: SshEndpoint): string[] {
  return [
    ...(endpoint.user ? ['-l', endpoint.user] : []),
    ...(endpoint.port ? ['-p', String(endpoint.port)] : []),
    '-o',
    'ConnectTimeout=10',
    '-T',
    '--',
    endpoint.host,
    'docker',
    ...(endpoint.socketPath ? ['--host', `unix://${endpoint.socketPath}`] : []),
    'system',
    'dial-stdio',
  ];
}

/** Node's HTTP client expects a few methods of a socket; an idle connection must not keep the process alive. */
function asSocket(duplex: Duplex, handles: () => unknown[]): Duplex {
  const each = (verb: 'ref' | 'unref') => {
    for (const handle of handles()) {
      if (handle instanceof Socket) handle[verb]();
    }
    return duplex;
  };
  return Object.assign(duplex, {
    setKeepAlive: () => duplex,
    setNoDelay: () => duplex,
    setTimeout: () => duplex,
    ref: () => each('ref'),
    unref: () => each('unref'),
  });
}
