import type { ContainerInfo } from '../../engine/index.ts';
import { OperationError } from '../../lib/errors.ts';
import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { bytes } from '../../lib/table.ts';
import type { SandboxStatus } from '../../wire/index.ts';
import { openContext } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import { statusOf } from '../sandbox/ask-supervisor.ts';
import type { ListedSandbox } from '../sandbox/find-sandboxes.ts';
import { planImage } from '../sandbox/image.ts';
import { findSandbox } from '../sandbox/resolve-running.ts';

export interface InspectOptions extends GlobalOptions {
  domain?: string;
  json?: boolean;
}

/** What the engine and the sandbox's own supervisor say about one sandbox (S15). */
export async function inspect(word: string | undefined, options: InspectOptions): Promise<number> {
  const { config, engine } = await openContext(options);
  const sandbox = await findSandbox(engine, config.INSTALLATION_PREFIX, word, options.domain);
  const [container, status] = await Promise.all([
    engine.containers.inspect(sandbox.id),
    sandbox.state === 'running' ? statusOf(engine, sandbox.id) : undefined,
  ]);
  engine.close();
  if (container === undefined) {
    throw new OperationError(`${sandbox.name} has just ended`, { hint: 'pi-sandbox ps --all says why' });
  }
  const oldImage = sandbox.image !== planImage(config.INSTALLATION_PREFIX, config).name;
  const facts = {
    ...sandbox,
    engine: engine.address,
    oldImage,
    ...factsOf(container),
    status: status ?? null,
  };
  if (options.json === true) process.stdout.write(`${jsonText({ version: 1, sandbox: facts }, 2)}\n`);
  else process.stdout.write(page(sandbox, oldImage, engine.address, container, status));
  return 0;
}

function factsOf(container: ContainerInfo) {
  const { startedAt, user, limits, networks, published, mounts, labels } = container;
  const started = startedAt === undefined ? undefined : new Date(startedAt).toISOString();
  return { startedAt: started, user, limits, networks, published, mounts, labels };
}

/** One fact a line; several of a kind one below the other. */
function page(
  sandbox: ListedSandbox,
  oldImage: boolean,
  engine: string,
  container: ContainerInfo,
  status: SandboxStatus | undefined,
): string {
  const { limits, published, mounts, user, networks } = container;
  const memory = limits.memoryBytes === 0 ? 'no limit' : bytes(limits.memoryBytes);
  const used = status === undefined ? '' : `${bytes(status.memory.used)} of `;
  const facts: [string, string[]][] = [
    ['name', [sandbox.alias === undefined ? sandbox.name : `${sandbox.alias} (${sandbox.name})`]],
    ['id', [sandbox.id.slice(0, 12)]],
    ['project', [sandbox.project]],
    ['domain', [sandbox.domain]],
    ['state', [sandbox.state]],
    ['image', [`${sandbox.image}${oldImage ? ' (old: a new start would use another)' : ''}`]],
    ['version', [sandbox.version]],
    ['engine', [engine]],
    ['user', [user]],
    ['memory', [`${used}${memory}`]],
    ['cpus', [limits.cpus === 0 ? 'no limit' : String(limits.cpus)]],
    ['processes', [limits.pids === 0 ? 'no limit' : `at most ${limits.pids}`]],
    ['network', networks],
    ['published', published.map((port) => `${port.hostIp}:${port.hostPort} -> ${port.containerPort}`)],
    [
      'mounts',
      mounts.map((mount) => `${mount.target} <- ${mount.source}${mount.readOnly ? ' (read-only)' : ''}`),
    ],
    ['alive', status === undefined ? ['?'] : status.living.map((one) => `${one.kind} ${one.name ?? one.id}`)],
    ['stray', (status?.stray ?? []).map(({ pid, command }) => `${pid} ${command}`)],
  ];
  return facts
    .filter(([, lines]) => lines.length > 0)
    .flatMap(([key, lines]) =>
      lines.map((line, at) => `${(at === 0 ? key : '').padEnd(11)}${safeForTerminal(line)}\n`),
    )
    .join('');
}
