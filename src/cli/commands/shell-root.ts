import { randomBytes } from 'node:crypto';
import { sandboxRoots } from '../../agent-dir/index.ts';
import type { ContainerSpec, Engine } from '../../engine/index.ts';
import { OperationError, UsageError } from '../../lib/errors.ts';
import type { RunRequest } from '../../wire/index.ts';
import { domainOf, terminalEnvironment } from '../config/index.ts';
import { openContext } from '../context.ts';
import { attach } from '../sandbox/attach.ts';
import { exitCodeOf } from '../sandbox/ending.ts';
import { open } from '../sandbox/greeting.ts';
import { planImage } from '../sandbox/image.ts';
import { removeWhenInterrupted } from '../sandbox/interruption.ts';
import { resolveProject } from '../sandbox/project.ts';
import { domainLabels, type Sandbox, sandboxOf } from '../sandbox/sandbox.ts';
import type { StartOptions } from '../sandbox/start-options.ts';
import { removeAbandonedHelpers, volumesExist } from '../sandbox/volumes.ts';
import { warn } from '../ui/report.ts';
import { isTerminal } from './start.ts';

const ROOT = { uid: 0, gid: 0 };
const MEBIBYTE = 2 ** 20;
/** What root may do there: change owners and modes, and read and write what belongs to others. */
const CAPABILITIES = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER'];
/** Start-up files lie in a volume that sessions write. */
const SHELL = ['/bin/bash', '--norc', '--noprofile'];

/**
 * A shell as root in a container of its own, with the volumes of the project's domain at their usual places, and without a
 * network, the project, or anything else of the host (S15). The sandbox itself may run or not.
 */
export async function shellAsRoot(
  argument: string | undefined,
  command: readonly string[],
  options: StartOptions,
): Promise<number> {
  const { config, engine, env, home } = await openContext(options);
  const project = await resolveProject(argument, { cwd: process.cwd(), home });
  const domain = domainOf(config, project.canonical, options.domain);
  const sandbox = sandboxOf(config, domain, project, ROOT);
  if (!(await volumesExist(engine, sandbox))) {
    throw new UsageError(`domain ${domain} has no volumes yet`, {
      hint: 'pi-sandbox volumes list shows which there are',
    });
  }
  warn(
    `this is root on the volumes of domain ${domain} and on the shared one: run nothing that a session may have put there`,
  );
  const terminal = isTerminal();
  const { columns, rows } = process.stdout;
  const request: RunRequest = {
    verb: 'run',
    id: randomBytes(16).toString('hex'),
    program: 'command',
    arguments: command.length > 0 ? [...command] : SHELL,
    directory: '/home/pi/.pi',
    environment: { ...terminalEnvironment(env), HOME: '/tmp', PS1: 'root:\\w# ' },
    ...(terminal ? { terminal: { columns: columns || 80, rows: rows || 24 } } : {}),
  };
  const image = planImage(config.INSTALLATION_PREFIX, config).name;
  try {
    return await runIn(engine, rootContainer(sandbox, image), request, terminal);
  } finally {
    await removeAbandonedHelpers(engine, config.INSTALLATION_PREFIX);
    engine.close();
  }
}

function rootContainer(sandbox: Sandbox, image: string): ContainerSpec {
  const roots = sandboxRoots(ROOT.uid);
  const { volumes } = sandbox;
  return {
    image,
    user: '0:0',
    command: ['--bare'],
    env: { XDG_RUNTIME_DIR: roots.runtime },
    labels: domainLabels(sandbox, 'helper'),
    mounts: [
      { type: 'volume', source: volumes.agentState, target: roots.shared },
      { type: 'volume', source: volumes.domainState, target: roots.domain },
      { type: 'volume', source: volumes.sessions, target: roots.sessions },
    ],
    tmpfs: [
      { target: roots.runtime, sizeBytes: 16 * MEBIBYTE, mode: 0o700 },
      { target: '/tmp', sizeBytes: 64 * MEBIBYTE, mode: 0o1777 },
    ],
    network: { mode: 'none' },
    limits: { pids: 256, memoryBytes: 1024 * MEBIBYTE },
    readOnlyRoot: true,
    capDropAll: true,
    capAdd: CAPABILITIES,
    noNewPrivileges: true,
    autoRemove: true,
    openStdin: true,
    discardLogs: true,
  };
}

async function runIn(
  engine: Engine,
  spec: ContainerSpec,
  request: RunRequest,
  terminal: boolean,
): Promise<number> {
  const creating = engine.containers.create(spec);
  const release = removeWhenInterrupted(
    engine,
    creating.then((result) => (result.outcome === 'created' ? result.id : undefined)),
  );
  const created = await creating.finally(release);
  if (created.outcome !== 'created') {
    const hint = created.outcome === 'no-such-image' ? 'pi-sandbox image build' : undefined;
    throw new OperationError(`cannot make the container: ${created.message}`, { hint });
  }
  try {
    const streams = await engine.containers.attach(created.id);
    await engine.containers.start(created.id);
    const greeting = await open(streams, undefined, { request, onStatus: ({ text }) => warn(text) });
    if (greeting.answer !== 'accepted') throw new OperationError('the container ended before it answered');
    const ending = await attach(greeting.connection, process, terminal);
    if (ending.how === 'lost') throw new OperationError('the connection to the container was lost');
    return exitCodeOf(ending.exited);
  } finally {
    await engine.containers.remove(created.id, { force: true }).catch(() => undefined);
  }
}
