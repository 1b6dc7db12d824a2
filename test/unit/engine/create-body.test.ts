import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { ContainerSpec } from '../../../src/engine/container-spec.ts';
import { createBody, tmpfsOptions } from '../../../src/engine/create-body.ts';
import { hostUlimits } from '../../../src/engine/host-limits.ts';

const docker = { kind: 'docker', ulimits: [] } as const;
const podman = { kind: 'podman', ulimits: [{ name: 'nofile', soft: 100, hard: 100 }] } as const;
const spec: ContainerSpec = { image: 'i', user: '1000:1000', labels: {}, network: { mode: 'none' } };

describe('createBody', () => {
  it('S17: a hardened container, said in full', () => {
    const body = createBody(
      {
        ...spec,
        env: { A: 'b=c', B: '' },
        labels: { l: 'v' },
        limits: { memoryBytes: 1024, cpus: 1.5, pids: 7 },
        readOnlyRoot: true,
        capDropAll: true,
        noNewPrivileges: true,
        autoRemove: true,
        openStdin: true,
        discardLogs: true,
        publish: [
          { hostIp: '127.0.0.1', hostPort: 8080, containerPort: 80 },
          { hostIp: '::1', hostPort: 8080, containerPort: 80 },
        ],
      },
      docker,
    );
    expect(body).toEqual({
      Image: 'i',
      User: '1000:1000',
      Env: ['A=b=c', 'B='],
      Labels: { l: 'v' },
      Tty: false,
      OpenStdin: true,
      StdinOnce: true,
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
      ExposedPorts: { '80/tcp': {} },
      HostConfig: {
        NetworkMode: 'none',
        Mounts: [],
        Binds: [],
        Memory: 1024,
        MemorySwap: 1024,
        NanoCpus: 1_500_000_000,
        PidsLimit: 7,
        ReadonlyRootfs: true,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges'],
        AutoRemove: true,
        PortBindings: {
          '80/tcp': [
            { HostIp: '127.0.0.1', HostPort: '8080' },
            { HostIp: '::1', HostPort: '8080' },
          ],
        },
        LogConfig: { Type: 'none', Config: {} },
      },
    });
  });

  it('S19: neither engine is asked for an init, Podman gets the host limits', () => {
    expect(createBody(spec, docker).HostConfig).not.toHaveProperty('Init');
    expect(createBody(spec, podman).HostConfig).not.toHaveProperty('Init');
    expect(createBody(spec, docker).HostConfig).not.toHaveProperty('Ulimits');
    expect(createBody(spec, podman).HostConfig).toMatchObject({
      Ulimits: [{ Name: 'nofile', Soft: 100, Hard: 100 }],
    });
  });

  it('S17: a tmpfs has an owner in the words of each engine', () => {
    const tmpfs = { target: '/t', sizeBytes: 100, mode: 0o700, uid: 1000, gid: 100 };
    expect(tmpfsOptions(tmpfs, 'docker')).toBe('rw,nosuid,nodev,noexec,mode=0700,size=100,uid=1000,gid=100');
    expect(tmpfsOptions({ ...tmpfs, exec: true }, 'podman')).toBe(
      'rw,nosuid,nodev,exec,mode=0700,size=100,U,notmpcopyup',
    );
  });

  it('S18: mounts are structured on Docker, whatever the path', () => {
    const mount = { type: 'bind', source: '/a:b,c "d"', target: '/e' } as const;
    expect(createBody({ ...spec, mounts: [mount] }, docker).HostConfig).toMatchObject({
      Mounts: [{ Type: 'bind', Source: '/a:b,c "d"', Target: '/e' }],
      Binds: [],
    });
  });

  it('S18: Podman gets a path that its CSV would break as a bind, and no path that it would read as options', () => {
    const mount = (source: string) => ({ type: 'bind', source, target: source, readOnly: true }) as const;
    expect(
      createBody({ ...spec, mounts: [mount('/a,readonly=false'), mount('/b:c')] }, podman).HostConfig,
    ).toMatchObject({
      Mounts: [{ Source: '/b:c', ReadOnly: true }],
      Binds: ['/a,readonly=false:/a,readonly=false:ro'],
    });
    expect(() => createBody({ ...spec, mounts: [mount('/a,b:c')] }, podman)).toThrow(
      /Podman cannot mount .*\/a,b:c/,
    );
  });
});

describe('hostUlimits', () => {
  let proc = '';
  afterEach(() => rm(proc, { recursive: true, force: true }));

  async function procWith(limits: string, pidMax: string): Promise<string> {
    proc = await mkdtemp(path.join(tmpdir(), 'pi-proc-'));
    await mkdir(path.join(proc, 'self'));
    await mkdir(path.join(proc, 'sys/kernel'), { recursive: true });
    await writeFile(path.join(proc, 'self/limits'), limits);
    await writeFile(path.join(proc, 'sys/kernel/pid_max'), pidMax);
    return proc;
  }

  it('S19: states the hard limits, processes no higher than the kernel counts', async () => {
    const limits =
      'Max processes             96364                96364                processes\nMax open files            1024                 20000                files\n';
    expect(await hostUlimits(await procWith(limits, '32768\n'))).toEqual([
      { name: 'nofile', soft: 20_000, hard: 20_000 },
      { name: 'nproc', soft: 32_768, hard: 32_768 },
    ]);
  });

  it('S19: states nothing where there is enough, or nothing known', async () => {
    const limits =
      'Max processes             unlimited            unlimited            processes\nMax open files            1024                 1048576              files\n';
    expect(await hostUlimits(await procWith(limits, '4194304'))).toEqual([]);
    expect(await hostUlimits('/nowhere')).toEqual([]);
  });
});
