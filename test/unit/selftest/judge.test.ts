import { describe, expect, it } from 'vitest';
import { selftestFacts } from '../../../src/wire/index.ts';
import { failures, goodEvidence, rowsOf } from './evidence.ts';

describe('S16: judging a sandbox', () => {
  it('S16: a good sandbox has no failed row, and what is not there to be checked is skipped', async () => {
    const rows = await rowsOf();
    expect(rows.filter(({ result }) => result === 'FAIL')).toEqual([]);
    const skipped = rows.filter(({ result }) => result === 'skipped').map(({ check }) => check);
    expect(skipped).toEqual(['other sandboxes', 'certificates']);
    expect((await goodEvidence()).facts).toEqual(selftestFacts().parse((await goodEvidence()).facts));
  });

  it('S2: another name, another uid and supplementary groups fail', async () => {
    const user = {
      name: 'node',
      uid: 1000,
      gid: 1000,
      home: '/home/pi/.pi/domain/home',
      groups: [1000, 998],
    };
    const found = await failures(() => ({ facts: { user } }));
    expect(found).toEqual([
      expect.stringMatching(/^user and groups: .*node, not pi; supplementary groups: 998/),
    ]);
    const root = await failures(() => ({ engine: { user: '' } }));
    expect(root).toEqual([expect.stringContaining('the engine runs it as root')]);
  });

  it('S17: a capability in any of the five sets fails, and one that only the engine tells of', async () => {
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) {
      const found = await failures(({ facts }) => ({
        facts: {
          process: {
            ...facts.process,
            capabilities: { ...facts.process.capabilities, [set]: '0000000000002000' },
          },
        },
      }));
      expect(found).toEqual([`no capabilities: ${set} is 0000000000002000`]);
    }
    const added = await failures(() => ({ engine: { capabilitiesAdded: ['NET_RAW'] } }));
    expect(added).toEqual(['no capabilities: added: NET_RAW']);
  });

  it('S17: missing no-new-privileges and seccomp fail', async () => {
    const found = await failures(({ facts }) => ({
      facts: { process: { ...facts.process, noNewPrivileges: '0', seccomp: '0' } },
    }));
    expect(found).toEqual(['no new privileges: NoNewPrivs is 0', 'seccomp: mode 0, not 2']);
  });

  it('S17: a root that can be written fails', async () => {
    expect(await failures(() => ({ facts: { rootWrite: 'written' } }))).toEqual([
      'read-only root: a write to / gave written, not EROFS',
    ]);
  });

  it('S17: limits that the kernel does not have fail; ones from before a configuration change do not', async () => {
    const found = await failures(() => ({ facts: { limits: { memory: 'max', pids: 'max' } } }));
    expect(found.map((line) => line.split(':')[0])).toEqual(['memory limit', 'process limit']);
    expect(await failures(() => ({ engine: { memoryBytes: 0, pids: 0 } }))).toHaveLength(2);
    const other = await rowsOf(() => ({ expected: { memoryBytes: 2 ** 30 } }));
    expect(other.find(({ check }) => check === 'memory limit')).toMatchObject({
      result: 'ok',
      detail: '4.0 GiB; a new sandbox would get 1.0 GiB',
    });
  });

  it('S17: a mount that the engine does not tell of fails', async () => {
    const found = await failures(({ facts }) => ({
      facts: { mounts: [...facts.mounts, { target: '/secret', type: 'ext4', root: '/x', options: ['rw'] }] },
    }));
    expect(found).toEqual(['mounts: unexpected: /secret']);
  });

  it("S17: another domain's volume fails, wherever it is seen", async () => {
    const volume = { type: 'volume', source: 'pi-sessions-work', target: '/work', readOnly: true };
    const told = await failures(({ engine }) => ({ engine: { mounts: [...engine.mounts, volume] } }));
    expect(told).toEqual(["other domains' volumes: the volume pi-sessions-work at /work"]);
    const seen = await failures(({ facts }) => ({
      facts: {
        mounts: facts.mounts.map((mount) =>
          mount.target === '/home/me/shop'
            ? { ...mount, root: '/var/lib/docker/volumes/pi-domain-state-work/_data/sub' }
            : mount,
        ),
      },
    }));
    expect(seen).toEqual(["other domains' volumes: pi-domain-state-work at /home/me/shop"]);
  });

  it("S17: the engine's socket and the host's namespaces fail; another --mount is only named", async () => {
    const bind = (source: string) => ({ type: 'bind', source, target: '/extra', readOnly: false });
    for (const source of [
      '/var/run/docker.sock',
      '/run/podman/podman.sock',
      '/run',
      '/var/run/docker',
      '/',
    ]) {
      const found = await failures(({ engine }) => ({
        engine: { mounts: [...engine.mounts, bind(source)] },
      }));
      expect(found).toEqual([`no way to the engine: ${source} of the host is mounted at /extra`]);
    }
    const harmless = await rowsOf(({ engine }) => ({
      engine: { mounts: [...engine.mounts, bind('/data')] },
    }));
    expect(harmless.find(({ check }) => check === 'mounts')).toMatchObject({
      result: 'ok',
      detail: expect.stringContaining('given with --mount: /extra'),
    });
    expect(await failures(() => ({ facts: { engineSockets: ['/run/docker.sock'] } }))).toHaveLength(1);
    expect(await failures(() => ({ engine: { pidMode: 'host' } }))).toHaveLength(1);
  });

  it('S17: tmpfs flags and size', async () => {
    const change = (target: string, options: string[], size = 2 ** 30) =>
      failures(({ facts }) => ({
        facts: {
          mounts: facts.mounts.map((mount) =>
            mount.target === target ? { ...mount, options, size } : mount,
          ),
        },
      }));
    expect(await change('/tmp', ['rw', 'nosuid', 'nodev', 'noexec'])).toEqual(['tmpfs: /tmp is noexec']);
    expect(await change('/tmp', ['rw', 'nosuid'])).toEqual(['tmpfs: /tmp is not nodev']);
    expect(await change('/run/pi-session', ['rw', 'nosuid', 'nodev'], 160 * 2 ** 20)).toEqual([
      'tmpfs: /run/pi-session is not noexec',
    ]);
    expect(await change('/tmp', ['rw', 'nosuid', 'nodev'], 2 ** 20)).toEqual([
      'tmpfs: /tmp has 1.0 MiB, not 1.0 GiB',
    ]);
  });

  it('S17: a file system in memory that nobody asked for is unexpected on every engine', async () => {
    for (const podman of [true, false]) {
      const found = await failures(({ facts }) => ({
        engine: { podman },
        facts: {
          mounts: [
            ...facts.mounts,
            { target: '/var/lib/x', type: 'tmpfs', root: '/', options: ['rw', 'nosuid', 'nodev'] },
          ],
        },
      }));
      expect(found).toEqual(['mounts: unexpected: /var/lib/x']);
    }
  });

  it('S14: a sandbox keeps the tmpfs size that it was started with', async () => {
    const options = 'rw,nosuid,nodev,exec,mode=1777,size=1048576';
    const found = await failures(({ facts }) => ({
      engine: { tmpfs: { '/tmp': options } },
      facts: {
        mounts: facts.mounts.map((mount) => (mount.target === '/tmp' ? { ...mount, size: 2 ** 20 } : mount)),
      },
    }));
    expect(found).toEqual([]);
  });

  it('S3: a link that leads elsewhere, or is none, fails by its name', async () => {
    const [agent, home] = ['/run/pi-session/agent/sessions', '/home/pi/.pi/domain/home/.kube'];
    const found = await failures(({ facts }) => ({
      facts: { links: { ...facts.links, [agent]: '/elsewhere', [home]: null } },
    }));
    expect(found).toEqual([`links: ${agent} leads to /elsewhere; ${home} is no link`]);
  });

  it("S2: a volume of another user's fails", async () => {
    const found = await failures(({ facts, expected }) => ({
      facts: { owners: { ...facts.owners, [`${expected.roots.shared}/.pi`]: { uid: 0, gid: 0 } } },
    }));
    expect(found).toEqual([expect.stringMatching(/^volumes: \/.*\/\.pi belongs to uid 0$/)]);
  });

  it('S17: another sandbox that answers fails, also with a refusal; silence does not', async () => {
    const ends = (end: string) =>
      failures(() => ({
        engine: { otherSandboxes: ['10.213.0.66'] },
        facts: { connections: { '10.213.0.66': end } },
      }));
    expect(await ends('silence')).toEqual([]);
    expect(await ends('EHOSTUNREACH')).toEqual([]);
    expect(await ends('ECONNREFUSED')).toEqual(['other sandboxes: 10.213.0.66 answers (ECONNREFUSED)']);
    expect(await ends('connected')).toHaveLength(1);
  });

  it('S17: with network none an interface fails; with open a foreign network does', async () => {
    const none = { networkMode: 'none', networks: ['none'] };
    expect(await failures(() => ({ engine: none, facts: { interfaces: ['lo'] } }))).toEqual([]);
    expect(await failures(() => ({ engine: none }))).toEqual(['network policy: there is an interface eth0']);
    const bridge = await failures(() => ({ engine: { networkMode: 'bridge', networks: ['bridge'] } }));
    expect(bridge).toEqual(['network policy: it is on the network bridge']);
  });

  it('S16: a resolver that is silent fails where the engine itself is it, and is reported elsewhere', async () => {
    const silent = { resolver: { servers: ['192.0.2.1'], answer: 'ETIMEOUT' } };
    expect(await failures(() => ({ facts: silent }))).toHaveLength(1);
    const rows = await rowsOf(() => ({ facts: silent, engine: { podman: true } }));
    expect(rows.find(({ check }) => check === 'names')).toMatchObject({
      result: 'skipped',
      detail: expect.stringContaining('192.0.2.1 does not answer (ETIMEOUT)'),
    });
  });

  it('H3: a Session that is not locked, not seen or not found again fails', async () => {
    const session = (part: object) =>
      failures(({ facts }) => ({ facts: { session: { ...facts.session, ...part } } }));
    expect(await session({ lockHeld: false })).toEqual([
      'Session lock: it was free while pi had the Session open',
    ]);
    expect(await session({ present: false })).toHaveLength(1);
    expect(await session({ continued: false })).toEqual([
      'Session written and found: another pi did not continue it',
    ]);
    expect(await session({ file: '/elsewhere/x.jsonl', problem: 'pi did not answer' })).toEqual([
      'Session written and found: pi did not answer',
    ]);
  });

  it('S16: a job that does not run, or that stays, fails', async () => {
    const job = (part: object) => failures(({ facts }) => ({ facts: { job: { ...facts.job, ...part } } }));
    expect(await job({ done: false, problem: 'the disk is full' })).toEqual([
      'background job: the disk is full',
    ]);
    expect(await job({ removed: false })).toEqual(['background job: it was not removed again']);
  });

  it('S10: certificates that the host has and node in the sandbox does not fail', async () => {
    expect(await failures(() => ({ expected: { certificates: true } }))).toHaveLength(1);
    const facts = { certificates: { bundled: 150, loaded: 150 } };
    expect(await failures(() => ({ expected: { certificates: true }, facts }))).toEqual([]);
  });

  it('S16: what the sandbox says is bounded and safe for a terminal', async () => {
    const rows = await rowsOf(() => ({ facts: { piVersion: `\u001b[31m${'x'.repeat(5_000)}` } }));
    const detail = rows.find(({ check }) => check === 'pi')?.detail ?? '';
    expect(detail).not.toContain('\u001b');
    expect(detail.length).toBeLessThan(700);
    const { facts } = await goodEvidence();
    const long = { ...facts, interfaces: Array.from({ length: 1_000 }, () => 'eth0') };
    expect(selftestFacts().safeParse(long).success).toBe(false);
  });
});
