/**
 * Looks for what a fault has left behind or lost. It shares no code with what it checks: it asks the engine's own
 * command, reads the volumes with programs of its own, and looks into /proc and the file system.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Inspection } from './fault-case.ts';
import { DOMAINS, type Domain, type World } from './world.ts';

export const KINDS = ['containers', 'networks', 'volumes', 'processes', 'mount points', 'sockets'] as const;
export type Leaks = Record<(typeof KINDS)[number], string[]>;

/** How long a helper that was never started may stay (src/cli/sandbox/volumes.ts). */
const ABANDONED_MS = 11_000;

/** After each start under faults: nothing runs, nothing is left. */
export const START_INSPECTION: Inspection<World> = {
  kinds: KINDS,
  flags: ({ kind }) => (kind === 'docker' ? '' : `--engine ${kind} `),
  settle: (world) => world.stopAll(),
  losses: findLosses,
  async leaks(world) {
    const leaks = await findLeaks(world);
    if (leaks.containers.length === 0) return leaks;
    // One that was made and never started is cleared away as soon as it is old enough to belong to nobody.
    await sleep(ABANDONED_MS);
    await world.stopAll().catch(() => undefined);
    return findLeaks(world);
  },
  clear: (world) => world.clear(),
};

/** What ends by itself, such as a helper whose command was killed, may take this long for it. */
const SETTLE_MS = 5_000;

/** Everything that is there after `stop --all` and should not be, once what is ending has ended. */
export async function findLeaks(world: World): Promise<Leaks> {
  for (const end = Date.now() + SETTLE_MS; ; await sleep(250)) {
    const leaks = await lookOnce(world);
    if (countOf(leaks) === 0 || Date.now() > end) return leaks;
  }
}

export function countOf(leaks: Leaks): number {
  return KINDS.reduce((sum, kind) => sum + leaks[kind].length, 0);
}

/** Everything of the installation that is there now, its volumes left out. */
export async function lookOnce(world: World): Promise<Leaks> {
  const { prefix, directory, events } = world;
  const [containers, networks, volumes] = await Promise.all([
    lines(world, ['ps', '-a', '--no-trunc', '--format', '{{.ID}} {{.Names}} {{.State}} {{.Labels}}']),
    lines(world, ['network', 'ls', '--format', '{{.Name}}']),
    lines(world, ['volume', 'ls', '--format', '{{.Name}}']),
  ]);
  const ids = events.seen.filter(({ moment }) => moment === 'container create').map(({ id }) => id);
  const kept = new Set([
    `${prefix}pi-agent-state`,
    ...DOMAINS.flatMap((domain) => [world.volume('sessions', domain), world.volume('domain-state', domain)]),
  ]);
  const stays = (line: string): boolean => ids.some((id) => line.includes(id)) || line.includes(prefix);
  return {
    containers: containers.filter((line) => stays(line) && !/faults\.keeper[=:]/.test(line)),
    networks: networks.filter((name) => name.startsWith(prefix)),
    volumes: volumes.filter((name) => name.startsWith(prefix) && !kept.has(name)),
    processes: processes(prefix, ids),
    'mount points': [
      ...mountPoints(ids, directory),
      ...unexpectedEntries(
        join(directory, 'projects'),
        (entry) => !entry.isDirectory() || /^[^ps]/.test(entry.name),
      ),
    ],
    sockets: [
      ...readFileSync('/proc/net/unix', 'utf8').split('\n').filter(stays),
      ...unexpectedEntries(directory, (entry) => entry.isSocket() || entry.isFIFO()),
    ],
  };
}

async function lines(world: World, words: readonly string[]): Promise<string[]> {
  return (await world.engine(words)).split('\n').filter((line) => line !== '');
}

/** Commands of ours by their environment, and what the engine runs for a container by the container's id. */
function processes(prefix: string, ids: readonly string[]): string[] {
  const variable = `PI_SANDBOX_INSTALLATION_PREFIX=${prefix}\0`;
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      const command = read(`/proc/${pid}/cmdline`).split('\0').join(' ');
      if (command.includes('faults.keeper')) return [];
      const cgroup = read(`/proc/${pid}/cgroup`);
      if (/conmon .*--exec-attach/.test(command) && !looksAfterAnything(pid)) return [];
      const ours = read(`/proc/${pid}/environ`).includes(variable);
      const engines = ids.some((id) => command.includes(id) || cgroup.includes(id));
      return (ours || engines) && stateOf(pid) !== 'Z' ? [`${pid} ${command}`] : [];
    });
}

/** Podman keeps what looked after an exec, one process and its child, for five minutes after the program's end. */
function looksAfterAnything(pid: string): boolean {
  const children = read(`/proc/${pid}/task/${pid}/children`).trim().split(' ').filter(Boolean);
  return children.some((child) => stateOf(child) !== 'Z' && !/conmon/.test(read(`/proc/${child}/cmdline`)));
}

function stateOf(pid: string): string {
  return read(`/proc/${pid}/stat`).split(') ')[1]?.[0] ?? 'Z';
}

/** Of another user's process nothing can be read, and of one that has just ended neither. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** In every mount namespace that can be seen. */
function mountPoints(ids: readonly string[], directory: string): string[] {
  const namespaces = new Map<string, string>();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      namespaces.set(readlinkSync(`/proc/${pid}/ns/mnt`), pid);
    } catch {
      // Another user's.
    }
  }
  return [...namespaces.values()].flatMap((pid) =>
    read(`/proc/${pid}/mountinfo`)
      .split('\n')
      .filter((line) => ids.some((id) => line.includes(id)) || line.includes(directory)),
  );
}

type Entry = { name: string; isDirectory(): boolean; isSocket(): boolean; isFIFO(): boolean };

function unexpectedEntries(directory: string, unexpected: (entry: Entry) => boolean): string[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter(unexpected)
    .map(({ parentPath, name }) => join(parentPath, name));
}

/** Runs inside a container of the plain image: prints what a domain holds, as JSON. */
const READ_DOMAIN = `
const fs = require('node:fs');
const text = (path) => { try { return fs.readFileSync(path, 'utf8'); } catch { return ''; } };
const bad = [];
const walk = (path) => fs.existsSync(path) ? fs.readdirSync(path, { recursive: true }).map((name) => path + '/' + name) : [];
let sessions = 0;
for (const path of walk('/s').filter((path) => path.endsWith('.jsonl'))) {
  const lines = text(path).split('\\n').filter((line) => line !== '');
  // A line may be torn at the end: by what killed its writer, or for lack of room. Whoever was promised it is counted.
  const parsed = lines.map((line, index) => {
    try { return JSON.parse(line); } catch (error) {
      if (index < lines.length - 1) bad.push(path + ':' + (index + 1) + ': ' + error.message);
      return {};
    }
  });
  const answered = parsed.some((line) => line.message?.role === 'assistant' && line.message.stopReason !== 'aborted');
  if (parsed[0]?.type === 'session' && answered) sessions++;
}
for (const path of walk('/d/logs/sandboxes').filter((path) => path.endsWith('.jsonl'))) {
  // A line may be torn by what killed its writer, yet never swallow the next one.
  for (const line of text(path).split('\\n').filter((line) => line.includes('}{'))) bad.push(path + ': ' + line.slice(0, 200));
}
process.stdout.write(JSON.stringify({ entries: text('/d/home/entries').split('\\n'), sessions, bad }));
`;

/** Items that were acknowledged and are not there, and state that is torn. */
export async function findLosses(world: World): Promise<string[]> {
  const lost = await Promise.all(DOMAINS.map((domain) => lossesOf(world, domain)));
  return lost.flat();
}

async function lossesOf(world: World, domain: Domain): Promise<string[]> {
  const promised = world.promised(domain);
  if (promised.entries.length === 0 && promised.sessions === 0) return [];
  const mounts = [
    `type=volume,source=${world.prefix}pi-agent-state,target=/a,ro`,
    `type=volume,source=${world.volume('sessions', domain)},target=/s,ro`,
    `type=volume,source=${world.volume('domain-state', domain)},target=/d,ro`,
  ].flatMap((mount) => ['--mount', mount]);
  const run = [...world.plainRun, '--label', 'faults.keeper=checker', ...mounts];
  const printed = await world.engine([...run, '--entrypoint', 'node', world.image, '-e', READ_DOMAIN]);
  const found: { entries: string[]; sessions: number; bad: string[] } = JSON.parse(printed);
  const missing = promised.entries.filter((entry) => !found.entries.includes(entry));
  const short = Math.max(0, promised.sessions - found.sessions);
  return [
    ...missing.map((entry) => `${domain}: entry ${entry}`),
    ...Array.from(
      { length: short },
      () => `${domain}: a Session (${found.sessions} of ${promised.sessions})`,
    ),
    ...found.bad.map((line) => `${domain}: ${line}`),
  ];
}
