/**
 * The part of `pi-sandbox selftest` that looks from inside (S16): reads what to look at from standard input, and prints
 * what it found as one JSON document. It judges nothing: that is the host's, which trusts none of it.
 */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { getCACertificates } from 'node:tls';
import { certificateEnvironment, type Roots, sandboxRoots } from '../agent-dir/index.ts';
import { messageOf } from '../lib/errors.ts';
import {
  SELFTEST_VERSION,
  type SelftestFacts,
  type SelftestRequest,
  selftestRequest,
} from '../wire/index.ts';
import { allMounts, engineSockets, linkTargets, owners, tryWrite } from './selftest/file-system.ts';
import { tryJob } from './selftest/job.ts';
import { connections, interfaces, resolver } from './selftest/network.ts';
import { ownLimits, ownProcess, ownUser } from './selftest/own-process.ts';
import { runPi } from './selftest/pi-process.ts';
import { toldRetention } from './selftest/retention.ts';
import { trySession } from './selftest/session.ts';

async function lookAround(request: SelftestRequest): Promise<SelftestFacts> {
  const roots: Roots = { ...sandboxRoots(process.getuid?.() ?? 0), sessions: request.sessions };
  const [reached, dns] = await Promise.all([connections(request.addresses), resolver(request.resolve)]);
  return {
    version: SELFTEST_VERSION,
    user: ownUser(),
    process: ownProcess(),
    rootWrite: tryWrite('/'),
    limits: ownLimits(),
    mounts: allMounts(),
    links: linkTargets(request.links),
    owners: owners(request.directories),
    engineSockets: engineSockets(process.env),
    projectWrite: tryWrite(request.project),
    interfaces: interfaces(),
    connections: reached,
    resolver: dns,
    piVersion: await piVersion(),
    certificates: certificates(),
    ...toldRetention(roots),
    // Last, since they are the only ones that take seconds; together, since they have nothing to do with each other.
    ...(await tryOut(roots)),
  };
}

async function tryOut(roots: Roots): Promise<Pick<SelftestFacts, 'session' | 'job'>> {
  const [session, job] = await Promise.all([trySession(roots), tryJob()]);
  return { session, job };
}

async function piVersion(): Promise<string> {
  const { code, stdout, stderr } = await runPi(['--version'], '/', process.env);
  return code === 0 ? stdout.trim().slice(0, 200) : `exit code ${code}: ${stderr.trim().slice(0, 500)}`;
}

function certificates(): SelftestFacts['certificates'] {
  const bundle = certificateEnvironment().NODE_EXTRA_CA_CERTS ?? '';
  let bundled = 0;
  try {
    bundled = readFileSync(bundle, 'latin1').split('-----BEGIN').length - 1;
  } catch {
    // No certificates were handed in.
  }
  return { bundled, loaded: getCACertificates('extra').length };
}

/** The client has gone: its pi is told as well, and a Session that was begun is still taken away. */
function lookNoFurther(): void {
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      process.exitCode = 1;
    });
  }
  process.stdout.on('error', () => undefined);
}

async function main(): Promise<void> {
  lookNoFurther();
  const request = selftestRequest().parse(JSON.parse(await text(process.stdin)));
  process.stdout.write(`${JSON.stringify(await lookAround(request))}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`pi-sandbox selftest: ${messageOf(error)}\n`);
  process.exitCode = 1;
});
