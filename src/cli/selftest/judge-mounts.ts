import { SANDBOX_HOME } from '../../agent-dir/index.ts';
import { bytes } from '../ui/table.ts';
import type { Evidence } from './evidence.ts';
import { type Row, row } from './row.ts';

/** What every engine puts into a container itself. */
const ENGINE_MOUNTS = [
  /^\/(proc|sys|dev)(\/|$)/,
  /^\/etc\/(resolv\.conf|hostname|hosts)$/,
  // Podman's own.
  /^\/run\/(\.containerenv|secrets)(\/|$)/,
];
/** A socket with such a name, or a directory that holds engines' sockets, hands out the machine. */
const ENGINE_SOURCE =
  /(docker|podman|containerd|crio|buildkitd)[^/]*\.sock$|^(\/var)?\/run(\/(docker|podman|containerd|user|user\/\d+))?\/?$|^\/$/;

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

function tmpfsOf({ expected }: Evidence): string[] {
  const { memory, runtime, shared } = expected.roots;
  const home = shared === SANDBOX_HOME ? [] : ['/home/pi', '/home/pi/.pi', '/home/pi/.pi/agent'];
  return [memory, runtime, '/tmp', ...home];
}

/** Host directories that nobody asked for by configuration: by `--mount`, or by somebody else's hand. */
function furtherBinds({ expected, engine }: Evidence) {
  const known = new Set([expected.project, ...expected.mounts.map(({ target }) => target)]);
  return engine.mounts.filter(({ type, target }) => type === 'bind' && !known.has(target));
}

function mounts(evidence: Evidence): Row {
  const { engine, expected, facts } = evidence;
  const told = new Set([...engine.mounts.map(({ target }) => target), ...tmpfsOf(evidence), '/']);
  const wrong = volumesOf(evidence).flatMap(([target, volume]) => {
    const found = engine.mounts.find((mount) => mount.target === target);
    if (found?.source !== volume) return [`${target} is ${found?.source ?? 'missing'}, not ${volume}`];
    return facts.mounts.some((mount) => mount.target === target) ? [] : [`${target} is not mounted inside`];
  });
  for (const { target } of facts.mounts) {
    if (!told.has(target) && !ENGINE_MOUNTS.some((own) => own.test(target)))
      wrong.push(`unexpected: ${target}`);
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

function tmpfs(evidence: Evidence): Row {
  const { expected, facts } = evidence;
  const wrong = tmpfsOf(evidence).flatMap((target) => {
    // The last one wins: what is mounted over hides what is below.
    const mount = facts.mounts.findLast((found) => found.target === target);
    if (mount?.type !== 'tmpfs') return [`${target} is ${mount?.type ?? 'no mount'}, not tmpfs`];
    return flagsOf(mount, target !== '/tmp');
  });
  const size = facts.mounts.findLast(({ target }) => target === '/tmp')?.size;
  if (size !== undefined && Math.abs(size - expected.config.TMP_SIZE) > 65_536) {
    wrong.push(`/tmp has ${bytes(size)}, not TMP_SIZE=${bytes(expected.config.TMP_SIZE)}`);
  }
  const unbounded = facts.mounts.filter(({ type, target, size: own }) => {
    return type === 'tmpfs' && tmpfsOf(evidence).includes(target) && own === 0;
  });
  for (const { target } of unbounded) wrong.push(`${target} has no size limit`);
  return row('tmpfs', wrong, `nosuid, nodev; /tmp exec, ${bytes(expected.config.TMP_SIZE)}`);
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
