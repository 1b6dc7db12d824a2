/** A good sandbox's evidence, to be spoilt one fact at a time. */
import { sandboxRoots } from '../../../src/agent-dir/index.ts';
import { DomainId, loadConfig } from '../../../src/cli/config/index.ts';
import type { EngineView } from '../../../src/cli/selftest/engine-view.ts';
import {
  type Evidence,
  type Expected,
  expectedLinks,
  ownedDirectories,
} from '../../../src/cli/selftest/evidence.ts';
import { judge } from '../../../src/cli/selftest/judge.ts';
import type { SelftestFacts } from '../../../src/wire/index.ts';

const PROJECT = '/home/me/shop';
const GIB = 2 ** 30;

export type Spoil = {
  facts?: Partial<SelftestFacts>;
  engine?: Partial<EngineView>;
  expected?: Partial<Expected>;
};

async function expectation(): Promise<Expected> {
  const config = await loadConfig({ env: { PI_SANDBOX_CONFIG_DIR: '/nowhere' }, home: '/home/me' });
  return {
    config,
    domain: DomainId.parse('default'),
    project: PROJECT,
    user: { uid: 1000, gid: 1000 },
    roots: sandboxRoots(1000),
    volumes: {
      agentState: 'pi-agent-state',
      sessions: 'pi-sessions-default',
      domainState: 'pi-domain-state-default',
    },
    mounts: [],
    tmpfs: [
      { target: '/run/pi-session', sizeBytes: 160 * 2 ** 20, mode: 0o700 },
      { target: '/run/user/1000', sizeBytes: 16 * 2 ** 20, mode: 0o700 },
      { target: '/tmp', sizeBytes: GIB, mode: 0o1777, exec: true },
    ],
    memoryBytes: 4 * GIB,
    certificates: false,
  };
}

function engineView({ roots, volumes }: Expected): EngineView {
  const volume = (source: string, target: string) => ({ type: 'volume', source, target, readOnly: false });
  return {
    user: '1000:1000',
    capabilitiesAdded: [],
    privileged: false,
    readOnlyRoot: true,
    securityOptions: ['no-new-privileges'],
    networkMode: 'pi-network-default',
    pidMode: '',
    ipcMode: 'private',
    devices: 0,
    memoryBytes: 4 * GIB,
    pids: 2_048,
    networks: ['pi-network-default'],
    mounts: [
      volume(volumes.agentState, roots.shared),
      volume(volumes.sessions, roots.sessions),
      volume(volumes.domainState, roots.domain),
      { type: 'bind', source: PROJECT, target: PROJECT, readOnly: false },
    ],
    tmpfs: {},
    socket: '/srv/engine/api.sock',
    ownNetworks: ['pi-network-default', 'pi-sandbox-default-shop-1'],
    otherSandboxes: [],
    podman: false,
  };
}

function goodFacts(expected: Expected): SelftestFacts {
  const { roots, volumes } = expected;
  const at = (target: string, root: string) => ({ target, type: 'ext4', root, options: ['rw', 'relatime'] });
  const memory = (target: string, size: number, ...more: string[]) => ({
    target,
    type: 'tmpfs',
    root: '/',
    options: ['rw', 'nosuid', 'nodev', ...more],
    size,
  });
  const none = '0000000000000000';
  return {
    version: 1,
    user: { name: 'pi', uid: 1000, gid: 1000, home: `${roots.domain}/home`, groups: [1000] },
    process: {
      capabilities: { CapInh: none, CapPrm: none, CapEff: none, CapBnd: none, CapAmb: none },
      noNewPrivileges: '1',
      seccomp: '2',
    },
    rootWrite: 'EROFS',
    limits: { memory: String(4 * GIB), pids: '2048' },
    mounts: [
      { target: '/', type: 'overlay', root: '/', options: ['ro'] },
      at('/proc', '/'),
      at('/dev/shm', '/'),
      at('/etc/hosts', '/var/lib/docker/containers/1/hosts'),
      at(roots.shared, `/var/lib/docker/volumes/${volumes.agentState}/_data`),
      at(roots.sessions, `/var/lib/docker/volumes/${volumes.sessions}/_data`),
      at(roots.domain, `/var/lib/docker/volumes/${volumes.domainState}/_data`),
      at(PROJECT, PROJECT),
      memory('/run/pi-session', 160 * 2 ** 20, 'noexec'),
      memory('/run/user/1000', 16 * 2 ** 20, 'noexec'),
      memory('/tmp', GIB),
    ],
    links: Object.fromEntries(expectedLinks(expected)),
    owners: Object.fromEntries(ownedDirectories(expected).map((path) => [path, { uid: 1000, gid: 1000 }])),
    engineSockets: [],
    projectWrite: 'written',
    interfaces: ['lo', 'eth0'],
    connections: {},
    resolver: { servers: ['127.0.0.11'], answer: 'answers' },
    piVersion: '1.6.0',
    retention: { days: 30, trashDays: 7 },
    certificates: { bundled: 0, loaded: 0 },
    session: {
      file: `${roots.sessions}/--tmp-pi-sandbox-selftest-1--/2026_1.jsonl`,
      lockHeld: true,
      lockFreed: true,
      present: true,
      continued: true,
      removed: true,
    },
    job: { done: true, removed: true },
  };
}

export async function goodEvidence(): Promise<Evidence> {
  const expected = await expectation();
  return { expected, engine: engineView(expected), facts: goodFacts(expected) };
}

/** The rows of a good sandbox with these facts changed. */
export async function rowsOf(spoil: (good: Evidence) => Spoil = () => ({})) {
  const good = await goodEvidence();
  const { facts, engine, expected } = spoil(good);
  return judge({
    facts: { ...good.facts, ...facts },
    engine: { ...good.engine, ...engine },
    expected: { ...good.expected, ...expected },
  });
}

/** Names of the failed rows, each with its detail. */
export async function failures(spoil: (good: Evidence) => Spoil): Promise<string[]> {
  const rows = await rowsOf(spoil);
  return rows.filter(({ result }) => result === 'FAIL').map(({ check, detail }) => `${check}: ${detail}`);
}
