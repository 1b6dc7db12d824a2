/** What happens on the engine under one prefix, as it happens: by the engine's own command and by nothing of ours. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** The moments of a start that a fault can be aimed at. */
export type Moment =
  | 'volume create'
  | 'network create'
  | 'container create'
  | 'container attach'
  | 'network connect'
  | 'container start'
  | 'container exec_create'
  | 'container die';

export interface EngineEvent {
  moment: string;
  /** Of the container, volume or network. */
  id: string;
  role: string | undefined;
  /** Milliseconds on the engine's clock. */
  time: number;
}

export interface EngineEvents {
  /** Everything so far. */
  readonly seen: readonly EngineEvent[];
  /** Resolves at the next event of that kind; false after `milliseconds`. */
  next(moment: Moment, milliseconds: number): Promise<boolean>;
  close(): void;
}

/** Ready when events come. */
export async function watchEngine(prefix: string): Promise<EngineEvents> {
  const seen: EngineEvent[] = [];
  const waiting = new Set<(event: EngineEvent) => void>();
  const child = spawn('docker', ['events', '--format', '{{json .}}'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    const event = parse(line, prefix);
    if (event === undefined) return;
    seen.push(event);
    for (const take of waiting) take(event);
  });
  await started(child);
  return {
    seen,
    next: (moment, milliseconds) =>
      new Promise((settle) => {
        const end = (found: boolean): void => {
          clearTimeout(timer);
          waiting.delete(take);
          settle(found);
        };
        const take = (event: EngineEvent): void => {
          if (event.moment === moment) end(true);
        };
        const timer = setTimeout(end, milliseconds, false);
        waiting.add(take);
      }),
    close: () => void child.kill(),
  };
}

/** The stream has no first word of its own, and a command that connects takes a moment. */
async function started(child: ChildProcess): Promise<void> {
  await new Promise((settle, fail) => {
    child.once('spawn', settle);
    child.once('error', fail);
  });
  await new Promise((settle) => setTimeout(settle, 300));
}

function parse(line: string, prefix: string): EngineEvent | undefined {
  const { Type: type, Action: action, Actor: actor, timeNano } = JSON.parse(line);
  const { ID: id, Attributes: attributes = {} } = actor;
  const name = String(attributes.name ?? id);
  if (
    !name.startsWith(prefix) &&
    !String(id).startsWith(prefix) &&
    attributes['pi-sandbox.prefix'] !== prefix
  )
    return undefined;
  return {
    moment: `${type} ${String(action).split(':', 1)[0]}`,
    id,
    role: attributes['pi-sandbox.role'],
    time: timeNano / 1e6,
  };
}
