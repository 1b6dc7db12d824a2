/** `pi-sandbox selftest` (S16). */
import { sandboxRoots } from '../../agent-dir/index.ts';
import { OperationError } from '../../lib/errors.ts';
import { jsonText } from '../../lib/json-text.ts';
import { table } from '../../lib/table.ts';
import { SELFTEST_LIMITS, SELFTEST_VERSION } from '../../wire/index.ts';
import { hostCertificates } from '../config/index.ts';
import type { GlobalOptions } from '../global-options.ts';
import { containerSpec } from '../sandbox/container-spec.ts';
import { openSandbox } from '../sandbox/open-sandbox.ts';
import { type PreparedStart, prepareStart } from '../sandbox/prepare-start.ts';
import { addressesOfOthers, engineView } from '../selftest/engine-view.ts';
import { type Evidence, type Expected, expectedLinks, ownedDirectories } from '../selftest/evidence.ts';
import { judge } from '../selftest/judge.ts';
import { PROBE, probe } from '../selftest/probe.ts';

export interface SelftestOptions extends GlobalOptions {
  domain?: string;
  json?: boolean;
}

/**
 * Starts or joins the project's sandbox as `start` does, looks at it from inside and through the engine, and prints
 * what holds and what does not. Exit code 1 if anything fails.
 */
export async function selftest(argument: string | undefined, options: SelftestOptions): Promise<number> {
  const choice = { program: 'command', arguments: PROBE, terminal: false } as const;
  const prepared = await prepareStart(argument, choice, { ...options, build: true });
  const expected = await expectedOf(prepared);
  const evidence = await gather(prepared, expected);
  prepared.close();
  const rows = judge(evidence);
  const failed = rows.filter(({ result }) => result === 'FAIL').length;
  if (options.json === true) {
    const { project, domain } = expected;
    const facts = { version: 1, ok: failed === 0, project, domain, checks: rows };
    process.stdout.write(`${jsonText(facts, 2)}\n`);
  } else {
    const lines = rows.map(({ check, result, detail }) => [check, result, detail]);
    process.stdout.write(table(['check', 'result', 'detail'], lines));
    if (failed > 0) process.stderr.write(`pi-sandbox: ${failed} of ${rows.length} checks failed\n`);
  }
  return failed === 0 ? 0 : 1;
}

async function expectedOf({ plan, sandbox }: PreparedStart): Promise<Expected> {
  const { config, domain, project, user, volumes } = sandbox;
  const given = await plan.options;
  const { certificates } = await hostCertificates(config, process.env);
  return {
    config,
    domain,
    project: project.canonical,
    user,
    roots: sandboxRoots(user.uid),
    volumes,
    mounts: given.mounts,
    tmpfs: containerSpec(sandbox, '', { mode: 'none' }, given).tmpfs ?? [],
    memoryBytes: given.memoryBytes,
    certificates: certificates !== undefined,
  };
}

async function gather({ plan, sandbox }: PreparedStart, expected: Expected): Promise<Evidence> {
  const { engine } = plan;
  const prefix = sandbox.config.INSTALLATION_PREFIX;
  const otherSandboxes = await addressesOfOthers(engine, prefix, sandbox.name);
  const { connection } = await openSandbox(plan);
  const facts = await probe(connection, {
    version: SELFTEST_VERSION,
    links: [...expectedLinks(expected).keys()].slice(0, SELFTEST_LIMITS.links),
    directories: ownedDirectories(expected),
    project: expected.project,
    sessions: expected.roots.sessions,
    addresses: otherSandboxes,
    resolve: sandbox.name,
  });
  const container = await engine.containers.inspect(sandbox.name);
  if (container === undefined) throw new OperationError(`the sandbox ${sandbox.name} is gone`);
  const ownNetworks = [sandbox.network, sandbox.name];
  return { expected, facts, engine: await engineView(engine, container, { otherSandboxes, ownNetworks }) };
}
