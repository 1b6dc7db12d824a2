import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ENGINES, readyEngine } from '../setup/engines.ts';
import { type Installation, installation } from '../setup/installation.ts';
import { inspect, sandboxes, sandboxOf } from '../setup/look.ts';
import { terminal } from '../setup/terminal.ts';

/** The first commands on each engine of the matrix (S19); what only differs in pi is tested on Docker alone. */
describe.each(ENGINES)('S19: the verbs on %s', (kind) => {
  let here: Installation;
  let project: string;

  beforeAll(async () => {
    here = await installation(await readyEngine(kind, inject('e2e')));
    project = here.project();
  });

  afterAll(async () => {
    expect((await here.run(['stop', '--all'])).exitCode).toBe(0);
    const left = (await here.leftovers()).filter((line) => !line.startsWith('volume '));
    await here.cleanup();
    expect(left).toEqual([]);
  });

  it('S14: a cold start answers and makes one sandbox', async () => {
    const result = await here.run(['start', '--demo', project, '--', '-p', 'run id -u']);
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    expect(result.stdout).toContain(String(here.owner.uid));
    expect(await sandboxes(here, project)).toHaveLength(1);
  });

  it('S14: a join answers, with bytes and exit code as they are', async () => {
    const input = Buffer.from(Array.from({ length: 256 }, (_, at) => at)).toString('latin1');
    const result = await here.run(['shell', project, '--', 'sh', '-c', 'cat; echo err >&2; exit 7'], {
      input,
    });
    expect(result).toEqual({ exitCode: 7, signal: undefined, stdout: input, stderr: 'err\n' });
    expect(await sandboxes(here, project)).toHaveLength(1);
  });

  it('S20: a terminal has its size at once, and pi paints it', async () => {
    const window = terminal(process.execPath, [here.cli, 'start', '--demo', project], {
      env: here.env,
      cwd: project,
      columns: 100,
      rows: 30,
    });
    await window.shows(/─{100}/);
    window.type('\u0004');
    expect(await window.exited()).toBe(0);
  });

  it('S17: the walls stand', async () => {
    const script =
      'grep -E "^(CapEff|NoNewPrivs|Seccomp):" /proc/self/status; touch /x /opt/x; touch /tmp/x ~/x && whoami';
    const { stdout, stderr } = await here.run(['shell', project, '--', 'sh', '-c', script]);
    expect(stdout).toMatch(/CapEff:\s+0+\nNoNewPrivs:\s+1\nSeccomp:\s+2\npi\n/);
    expect(stderr.match(/Read-only file system/g)).toHaveLength(2);
  });

  it('S17: nothing of the host or the engine is reached from inside', async () => {
    const script = `
      ls -d /proc/1/root/opt/pi-sandbox; ls /proc/1/root/var/lib 2>&1 | grep -cE 'docker|containers'
      unshare -Ur true; unshare -m true; mount -t tmpfs x /mnt; chroot / true
      echo '|/tmp/x' > /proc/sys/kernel/core_pattern; echo x > /proc/sysrq-trigger; dmesg
      mknod /tmp/disk b 254 0; ls /dev/mem /dev/kmsg /dev/vda /dev/sda /var/run/docker.sock /run/podman/podman.sock
      head -c 1 /proc/kcore | wc -c`;
    const { stdout, stderr } = await here.run(['shell', project, '--', 'sh', '-c', script]);
    expect(stdout).toBe('/proc/1/root/opt/pi-sandbox\n0\n0\n');
    for (const refusal of [
      'unshare',
      'mount',
      'chroot',
      'core_pattern',
      'sysrq-trigger',
      'dmesg',
      'mknod',
      '/dev/mem',
    ])
      expect(stderr).toContain(refusal);
  });

  it('S15: ps shows it, stop removes it, ps --all and logs tell the end', async () => {
    const name = await sandboxOf(here, project);
    const listed = JSON.parse((await here.run(['ps', '--json'])).stdout);
    expect(listed.sandboxes).toMatchObject([{ name, project, state: 'running', oldImage: false }]);
    expect((await inspect(here, name)).State.Running).toBe(true);
    const earlier = '{"time":"2026-01-01T00:00:00.000Z","event":"earlier"}';
    const rotated = `echo '${earlier}' > ~/../logs/sandboxes/${name}.jsonl.1`;
    expect((await here.run(['shell', project, '--', 'sh', '-c', rotated])).exitCode).toBe(0);
    expect(await here.run(['stop', project])).toMatchObject({ exitCode: 0, stdout: `${name}\n` });
    expect(await sandboxes(here)).toEqual([]);
    expect((await here.run(['ps', '--all'])).stdout).toContain(name);
    for (const word of [project, name])
      expect((await here.run(['logs', word])).stdout).toMatch(/ earlier\n[\s\S]* ended /);
    expect((await here.run(['logs', '-n', '1', name])).stdout).toMatch(/^\S+ ended .*\n$/);
    rmSync(project, { recursive: true });
    expect((await here.run(['logs', project])).stdout).toContain('ended');
    expect(await here.run(['logs', `${name}x`])).toMatchObject({ exitCode: 2, stdout: '' });
  });
});
