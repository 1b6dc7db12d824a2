import { mkdtempSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Installation, installation, type Owner } from '../setup/installation.ts';
import { ROOTLESS_POSSIBLE, rootlessPodman } from '../setup/rootless-podman.ts';

/** Where the machine has what it needs (subordinate ids, slirp4netns); Docker's own rootless mode is not tried. */
describe.runIf(ROOTLESS_POSSIBLE)('S2, S19: rootless Podman', () => {
  let here: Installation;
  let owner: Owner;
  let project: string;

  beforeAll(async () => {
    const { directory, image } = inject('e2e');
    const rootless = await rootlessPodman(mkdtempSync(join(directory, 'rootless-')), image);
    owner = rootless.owner;
    here = await installation(rootless.engine);
    project = here.project(owner);
  });

  afterAll(async () => {
    await here.cleanup();
  });

  it('S2: its owner is uid 0 inside, called pi, and owns outside what is written inside', async () => {
    const script = `set -e
      whoami; id -u; cut -c1-7 /dev/null; ssh -V 2>&1 | cut -c1-7; git init -q .
      node -e 'const { username, uid } = os.userInfo(); console.log(username, uid)'
      git -c user.name=Pi -c user.email=pi@example.com commit -q --allow-empty -m first; git log --format=%s
      touch made ~/in-home ~/.cache/in-cache ~/.pi/agent/sessions/in-sessions`;
    const result = await here.run(['shell', project, '--', 'sh', '-c', script]);
    expect(result).toMatchObject({ exitCode: 0, stdout: 'pi\n0\nOpenSSH\npi 0\nfirst\n', stderr: '' });
    expect(statSync(join(project, 'made'))).toMatchObject(owner);
  });

  it('S14: pi answers, and a join has its own exit code', async () => {
    const answer = await here.run(['start', '--demo', project, '--', '-p', 'run id -u']);
    expect(answer).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('0') });
    expect((await here.run(['shell', project, '--', 'sh', '-c', 'exit 7'])).exitCode).toBe(7);
  });

  it('S17: the walls stand', async () => {
    const script =
      'grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status; touch /x /opt/x; mount -t tmpfs x /mnt';
    const { stdout, stderr } = await here.run(['shell', project, '--', 'sh', '-c', script]);
    expect(stdout).toMatch(/CapEff:\s+0+\nCapBnd:\s+0+\nNoNewPrivs:\s+1\nSeccomp:\s+2\n/);
    expect(stderr.match(/Read-only file system/g)).toHaveLength(2);
    expect(stderr).toMatch(/permission denied|superuser/i);
  });

  it('S2: another user’s project is refused: nobody in that engine has his number', async () => {
    const { exitCode, stderr } = await here.run([
      'shell',
      here.project({ uid: 1000, gid: 1000 }),
      '--',
      'true',
    ]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`the rootless one of uid ${owner.uid}, in which a project of uid 1000`);
  });

  it('S16: doctor calls it rootless, and says where limits have no effect', async () => {
    const { stdout } = await here.run(['doctor']);
    expect(stdout).toMatch(/isolation +(ok|warning) +rootless, cgroup v\d/);
  });

  it('S15: stop leaves nothing but the volumes', async () => {
    expect((await here.run(['stop', '--all'])).exitCode).toBe(0);
    expect((await here.leftovers()).filter((line) => !line.startsWith('volume '))).toEqual([]);
  });
});
