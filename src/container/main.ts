/**
 * The container's entrypoint (under `tini`, which reaps). With `--warm` it only loads what it is made of, for the
 * compile cache that is built into the image.
 */
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { sandboxRoots } from '../agent-dir/index.ts';
import { systemClock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import { SANDBOX_PROGRAMS } from './process/program.ts';
import { loadPty } from './process/terminal-program.ts';
import { runSupervisor } from './run-supervisor.ts';

/** For the container of a root shell, which has volumes and no configuration. */
const BARE = '--bare';

async function main(): Promise<void> {
  if (process.argv[2] === '--warm') return warm();
  // Project files stay normal (rule 2); state files set their own modes.
  process.umask(0o022);
  const user = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  await runSupervisor({
    roots: sandboxRoots(user.uid),
    user,
    version: PI_SANDBOX_VERSION,
    clock: systemClock,
    image: '/opt/pi-sandbox',
    programs: SANDBOX_PROGRAMS,
    stopGraceMs: 10_000,
    firstIdleMs: 60_000,
    closeMs: 5_000,
    bare: process.argv[2] === BARE,
    first: standardStreams(),
  });
}

/** Undefined when they are files or devices: then nobody is attached, and clients come by the socket only. */
function standardStreams(): { input: Readable; output: Writable } | undefined {
  try {
    return {
      input: new Socket({ fd: 0, readable: true, writable: false }),
      output: new Socket({ fd: 1, readable: false, writable: true }),
    };
  } catch {
    return undefined;
  }
}

async function warm(): Promise<void> {
  await Promise.all([loadPty(), import('../lib/tar-stream.ts')]);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`pi-sandbox: the sandbox could not be set up: ${messageOf(error)}\n`);
    process.exit(1);
  },
);
