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
export async function watchEngine(kind: 'docker' | 'podman', prefix: string): Promise<EngineEvents> {
  const seen: EngineEvent[] = [];
  const known = new Set<string>();
  const waiting = new Set<(event: EngineEvent) => void>();
  const child = spawn(kind, ['events', '--format', kind === 'docker' ? '{{json .}}' : 'json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    const event = parse(kind === 'docker' ? fromDocker(line) : fromPodman(line), prefix);
    // Podman tells everything once more when it rotates its file of events.
    if (event === undefined || known.has(line)) return;
    known.add(line);
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

interface Told {
  type: string;
  action: string;
  id: string;
  name: string;
  attributes: Record<string, string>;
  time: number;
}

function fromDocker(line: string): Told {
  const { Type: type, Action: action, Actor: actor, timeNano } = JSON.parse(line);
  const { ID: id, Attributes: attributes = {} } = actor;
  const name = String(attributes.name ?? id);
  return { type, action: String(action).split(':', 1)[0] ?? '', id, name, attributes, time: timeNano / 1e6 };
}

/** Podman's own words for the same. */
const PODMAN: Record<string, string> = { died: 'die', exec: 'exec_create' };

function fromPodman(line: string): Told {
  const {
    Type: type,
    Status: status,
    ID: id,
    Name: name,
    Attributes: attributes,
    Time: time,
  } = JSON.parse(line);
  return {
    type,
    action: PODMAN[status] ?? status,
    id: id ?? name ?? '',
    name: name ?? '',
    attributes: attributes ?? {},
    time: Date.parse(time),
  };
}

function parse({ type, action, id, name, attributes, time }: Told, prefix: string): EngineEvent | undefined {
  const ours = name.startsWith(prefix) || id.startsWith(prefix) || attributes['pi-sandbox.prefix'] === prefix;
  if (!ours) return undefined;
  return { moment: `${type} ${action}`, id, role: attributes['pi-sandbox.role'], time };
}
