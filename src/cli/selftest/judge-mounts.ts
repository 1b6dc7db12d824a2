import { bytes } from '../../lib/table.ts';
import type { Evidence } from './evidence.ts';
import { type Row, row } from './row.ts';

/** What every engine puts into a container itself. */
const ENGINE_MOUNTS = [/^\/(proc|sys|dev)(\/|$)/, /^\/etc\/(resolv\.conf|hostname|hosts)$/];
/** What Podman puts there besides. */
const PODMAN_MOUNTS = [/^\/etc\/(passwd|group)$/, /^\/run\/(\.containerenv|secrets)(\/|$)/];
/** A socket with such a name, or a directory that holds engines' sockets, hands out the machine. */
const ENGINE_SOURCE =
  /(docker|podman|containerd|crio|buildkitd)[^/]*\.sock$|^(\/var)?\/run(\/(docker|podman|containerd|user|user\/\d+))?\/?$|^\/$/;

/** Directories that are links in the image: a mount below one is where it leads. */
const IMAGE_LINKS: readonly [from: string, to: string][] = [
  ['/var/run/', '/run/'],
  ['/var/lock/', '/run/lock/'],
  ['/bin/', '/usr/bin/'],
  ['/sbin/', '/usr/sbin/'],
  ['/lib/', '/usr/lib/'],
  ['/lib64/', '/usr/lib64/'],
];

function whereMounted(target: string): string {
  const link = IMAGE_LINKS.find(([from]) => target.startsWith(from));
  return link === undefined ? target : `${link[1]}${target.slice(link[0].length)}`;
}

type Mount = Evidence['facts']['mounts'][number];

/** What is mounted where, and that nothing else is (S17). */
export function judgeMounts(evidence: Evidence): Row[] {
  return [
    mounts(evidence),
    otherDomains(evidence),
    tmpfs(evidence),
    engineSocket(evidence),
    project(evidence),
  ];
}

function volumesOf({ expected }: Evidence): [string, string][] {
  const { roots, volumes } = expected;
  return [
    [roots.shared, volumes.agentState],
    [roots.sessions, volumes.sessions],
    [roots.domain, volumes.domainState],
  ];
}

/** Host directories that nobody asked for by configuration: by `--mount`, or by somebody else's hand. */
function furtherBinds({ expected, engine }: Evidence) {
  const known = new Set([expected.project, ...expected.mounts.map(({ target }) => target)]);
  return engine.mounts.filter(({ type, target }) => type === 'bind' && !known.has(target));
}

function mounts(evidence: Evidence): Row {
  const { engine, expected, facts } = evidence;
  const told = new Set([
    ...engine.mounts.map(({ target }) => whereMounted(target)),
    ...expected.tmpfs.map(({ target }) => target),
    '/',
  ]);
  const wrong = volumesOf(evidence).flatMap(([target, volume]) => {
    const found = engine.mounts.find((mount) => mount.target === target);
    if (found?.source !== volume) return [`${target} is ${found?.source ?? 'missing'}, not ${volume}`];
    return facts.mounts.some((mount) => mount.target === whereMounted(target))
      ? []
      : [`${target} is not mounted inside`];
  });
  const ofEngine = (mount: Mount): boolean =>
    ENGINE_MOUNTS.some((own) => own.test(mount.target)) || (engine.podman && isPodmans(mount));
  for (const mount of facts.mounts) {
    if (!told.has(mount.target) && !ofEngine(mount)) wrong.push(`unexpected: ${mount.target}`);
  }
  const source = engine.mounts.find(({ target }) => target === expected.project)?.source;
  if (source !== expected.project) wrong.push(`the project is ${source ?? 'not mounted'}`);
  const further = furtherBinds(evidence).map(({ target }) => target);
  const besides = further.length === 0 ? '' : `; given with --mount: ${further.join(', ')}`;
  return row('mounts', wrong, `the project and the domain's three volumes${besides}`);
}

/** By the engine, and by what the kernel says lies behind each mount. */
function otherDomains(evidence: Evidence): Row {
  const { engine, expected, facts } = evidence;
  const own = new Set(volumesOf(evidence).map(([, volume]) => volume));
  const foreign = engine.mounts
    .filter(({ type, source }) => type === 'volume' && !own.has(source))
    .map(({ source, target }) => `the volume ${source} at ${target}`);
  const prefix = expected.config.INSTALLATION_PREFIX;
  const inside = facts.mounts.flatMap(({ root, target }) => {
    const name = /\/volumes\/([^/]+)\/_data(\/|$)/.exec(root)?.[1];
    const ours = name?.startsWith(`${prefix}pi-`) === true;
    return ours && name !== undefined && !own.has(name) ? [`${name} at ${target}`] : [];
  });
  return row("other domains' volumes", [...new Set([...foreign, ...inside])], 'none is mounted');
}

function isPodmans({ target }: Mount): boolean {
  return PODMAN_MOUNTS.some((own) => own.test(target));
}

function tmpfs({ engine, expected, facts }: Evidence): Row {
  const wrong = expected.tmpfs.flatMap(({ target, exec, sizeBytes }) => {
    // The last one wins: what is mounted over hides what is below.
    const mount = facts.mounts.findLast((found) => found.target === target);
    if (mount?.type !== 'tmpfs') return [`${target} is ${mount?.type ?? 'no mount'}, not tmpfs`];
    // A sandbox that was started before TMP_SIZE changed has the size that it was started with.
    const size = Number(/(?:^|,)size=(\d+)/.exec(engine.tmpfs[target] ?? '')?.[1] ?? sizeBytes);
    return [...flagsOf(mount, exec !== true), ...sizeOf(mount, size)];
  });
  const scratch = facts.mounts.findLast(({ target }) => target === '/tmp')?.size ?? 0;
  return row('tmpfs', wrong, `nosuid, nodev; /tmp exec, ${bytes(scratch)}`);
}

/** The kernel rounds to pages. */
function sizeOf({ target, size }: Mount, wanted: number): string[] {
  if (size === undefined || Math.abs(size - wanted) < 65_536) return [];
  return [`${target} has ${bytes(size)}, not ${bytes(wanted)}`];
}

function flagsOf({ target, options }: Mount, noexec: boolean): string[] {
  const has = (option: string): boolean => options.includes(option);
  return [
    ...['nosuid', 'nodev'].filter((flag) => !has(flag)).map((flag) => `${target} is not ${flag}`),
    ...(has('noexec') === noexec ? [] : [`${target} is ${noexec ? 'not ' : ''}noexec`]),
    ...(has('ro') ? [`${target} is read-only`] : []),
  ];
}

function engineSocket(evidence: Evidence): Row {
  const { engine, facts } = evidence;
  const seen = facts.engineSockets.map((path) => `${path} is there`);
  const holdsSocket = (source: string): boolean =>
    engine.socket !== undefined && (engine.socket === source || engine.socket.startsWith(`${source}/`));
  const mounted = engine.mounts
    .filter(({ type, source }) => type === 'bind' && (ENGINE_SOURCE.test(source) || holdsSocket(source)))
    .map(({ source, target }) => `${source} of the host is mounted at ${target}`);
  const shared = Object.entries({ network: engine.networkMode, pid: engine.pidMode, ipc: engine.ipcMode })
    .filter(([, mode]) => mode === 'host')
    .map(([name]) => `the host's ${name} namespace`);
  return row('no way to the engine', [...seen, ...mounted, ...shared], 'no socket, no namespace of the host');
}

function project({ expected, engine, facts }: Evidence): Row {
  const readOnly = engine.mounts.find(({ target }) => target === expected.project)?.readOnly === true;
  const wanted = readOnly ? 'EROFS' : 'written';
  const wrong = facts.projectWrite === wanted ? [] : [`a write gave ${facts.projectWrite}`];
  return row('project', wrong, readOnly ? 'read-only, as asked for' : 'writable');
}
