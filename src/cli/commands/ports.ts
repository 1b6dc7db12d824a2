import { OperationError } from '../../lib/errors.ts';
import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { table } from '../../lib/table.ts';
import { Listeners } from '../../wire/index.ts';
import { openContext } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import { askSupervisor } from '../sandbox/ask-supervisor.ts';
import { findSandbox } from '../sandbox/resolve-running.ts';

export interface PortsOptions extends GlobalOptions {
  domain?: string;
  json?: boolean;
}

/** Lists what listens in a running sandbox, and which ports are published on this machine (S14). */
export async function ports(project: string | undefined, options: PortsOptions): Promise<number> {
  const { config, engine } = await openContext(options);
  const sandbox = await findSandbox(engine, config.INSTALLATION_PREFIX, project, options.domain);
  const [answer, info] = await Promise.all([
    askSupervisor(engine, sandbox.id, { verb: 'listeners' }).catch(() => undefined),
    engine.containers.inspect(sandbox.id),
  ]);
  answer?.connection.destroy();
  engine.close();
  // What answers may be something in the sandbox (rule 8).
  const listeners = Listeners.safeParse(answer?.value);
  if (!listeners.success) {
    throw new OperationError(`the sandbox of ${sandbox.project} does not say what listens in it`, {
      hint: 'pi-sandbox ps shows whether it runs',
    });
  }
  const published = info?.published ?? [];
  const rows = listeners.data.map((listener) => ({
    ...listener,
    published: published
      .filter(({ containerPort }) => containerPort === listener.port)
      .map(({ hostIp, hostPort }) => `${hostIp}:${hostPort}`),
  }));
  const waiting = published
    .filter(({ containerPort }) => !rows.some(({ port }) => port === containerPort))
    .map(({ hostIp, hostPort, containerPort }) => ({
      port: containerPort,
      address: '',
      published: [`${hostIp}:${hostPort}`],
    }));
  const all: { port: number; address: string; command?: string | undefined; published: string[] }[] = [
    ...rows,
    ...waiting,
  ];
  if (options.json === true) process.stdout.write(`${jsonText({ version: 1, ports: all }, 2)}\n`);
  else {
    const cells = all.map(({ port, address, command, published: where }) => [
      String(port),
      safeForTerminal(address || '-'),
      where.join(', ') || '-',
      safeForTerminal(command ?? '-'),
    ]);
    process.stdout.write(table(['port', 'listens on', 'published at', 'program'], cells));
  }
  return 0;
}
