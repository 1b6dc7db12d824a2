/**
 * The container's entrypoint (under `tini`, which reaps): listens for clients on a socket and serves the client that
 * made the container on its own standard input and output, so that a cold start needs no second exec.
 */
import { Socket } from 'node:net';
import { sandboxRoots } from '../agent-dir/index.ts';
import { systemClock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import { FrameConnection } from '../wire/index.ts';
import { greet, listen, type Serve } from './listen.ts';
import { Supervisor } from './supervisor.ts';

async function main(): Promise<void> {
  // Project files stay normal (rule 2); state files set their own modes.
  process.umask(0o022);
  const user = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const roots = sandboxRoots(user.uid, process.env.PI_SANDBOX_SHARED);
  const supervisor = new Supervisor(roots, user, PI_SANDBOX_VERSION, systemClock);
  const serve: Serve = (connection, request) => supervisor.serve(connection, request);

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => void supervisor.end(`signal ${signal}`));
  }
  const first = new FrameConnection({
    input: new Socket({ fd: 0, readable: true, writable: false }),
    output: new Socket({ fd: 1, readable: false, writable: true }),
  });
  const greeted = greet(first, PI_SANDBOX_VERSION, undefined, serve);
  await listen(roots, PI_SANDBOX_VERSION, serve);
  void greeted.catch((error: unknown) => supervisor.end(`first client: ${messageOf(error)}`));
  await supervisor.ended;
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`pi-sandbox: the sandbox could not be set up: ${messageOf(error)}\n`);
    process.exit(1);
  },
);
