import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { checkEngine } from '../../../src/cli/doctor/check-engine.ts';
import { checkConfig, checkNode } from '../../../src/cli/doctor/check-host.ts';
import { leftover } from '../../../src/cli/doctor/check-leftovers.ts';
import { judgeInsides } from '../../../src/cli/doctor/check-volumes.ts';
import { examine } from '../../../src/cli/doctor/examine.ts';
import { clockDifference, type EngineScene } from '../../../src/cli/doctor/scene.ts';

const made: string[] = [];
afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
});

const INFO: EngineScene['info'] = {
  name: 'here',
  isPodman: false,
  version: '20.10.24+dfsg1',
  apiVersion: '1.41',
  operatingSystem: 'Debian',
  cgroupVersion: '2',
  totalMemoryBytes: 8 * 2 ** 30,
  cpus: 4,
  rootless: false,
  securityOptions: ['name=seccomp,profile=default'],
  systemTime: undefined,
  dataRoot: '',
  networkBackend: undefined,
};

function engineRows(info: Partial<EngineScene['info']>, clockAheadMs = 0): string[] {
  const engine = { address: '/run/docker.sock', foundBy: 'known socket' };
  const rows = checkEngine({ engine, info: { ...INFO, ...info }, clockAheadMs });
  return rows.map(({ check, result }) => `${check} ${result}`);
}

function configuration(content: string): { PI_SANDBOX_CONFIG_DIR: string } {
  const directory = mkdtempSync(join(tmpdir(), 'doctor-'));
  made.push(directory);
  writeFileSync(join(directory, '.env'), content);
  return { PI_SANDBOX_CONFIG_DIR: directory };
}

describe('S16: doctor', () => {
  it('S23: an old Node is a problem, by major and minor', () => {
    expect(checkNode('v22.18.9').result).toBe('problem');
    expect(checkNode('v20.0.0').result).toBe('problem');
    expect(checkNode('v22.19.0').result).toBe('ok');
    expect(checkNode('v24.0.0').result).toBe('ok');
  });

  it('S6: every bad key is a problem, every unknown one a warning, each with the command that tells more', async () => {
    const env = configuration('PIDS=lots\nMEMORY=tiny\nSESSION_RETENTION_DAYS=3\n');
    const { rows, config } = await checkConfig(env, '/home/me');
    expect(rows.map(({ result }) => result)).toEqual(['problem', 'problem', 'warning']);
    expect(rows.every(({ advice }) => advice === 'pi-sandbox config check')).toBe(true);
    expect(config?.PIDS).toBe(2_048);
  });

  it('S16: without an engine that is the problem, and it ends', async () => {
    const env = { ...configuration(''), DOCKER_HOST: 'unix:///nowhere/docker.sock' };
    const { rows } = await examine({}, env, '/home/me');
    expect(rows.map(({ check, result }) => [check, result])).toEqual([
      ['Node.js', 'ok'],
      ['configuration', 'ok'],
      ['engine', 'problem'],
    ]);
    expect(rows.at(-1)).toMatchObject({
      detail: expect.stringContaining('/nowhere/docker.sock'),
      advice: expect.stringContaining('--engine'),
    });
  });

  it('S16: the clock differs by what its answer cannot explain', () => {
    expect(clockDifference(undefined, 0, 10)).toBeUndefined();
    expect(clockDifference(1_005, 1_000, 1_010)).toBe(0);
    expect(clockDifference(4_010, 1_000, 1_010)).toBe(3_000);
    expect(clockDifference(0, 1_000, 1_010)).toBe(-1_000);
  });

  it('S19: an engine that is too old, without seccomp, or with another clock is a problem', () => {
    expect(engineRows({})).toEqual(['engine ok', 'isolation ok', 'clock ok']);
    expect(engineRows({ version: '19.3.1' })[0]).toBe('engine problem');
    expect(engineRows({ version: '20.9.0' })[0]).toBe('engine problem');
    expect(engineRows({ version: '28.2.2' })[0]).toBe('engine ok');
    expect(engineRows({ version: '4.2.0', isPodman: true })[0]).toBe('engine problem');
    expect(engineRows({ version: '5.0.0', isPodman: true })[0]).toBe('engine ok');
    expect(engineRows({ securityOptions: [] })[1]).toBe('isolation problem');
    expect(engineRows({ rootless: true, cgroupVersion: '1' })[1]).toBe('isolation warning');
    expect(engineRows({ isPodman: true, version: '5.0.0', networkBackend: 'netavark' })[1]).toBe(
      'isolation warning',
    );
    expect(engineRows({}, 2_500)[2]).toBe('clock problem');
    expect(engineRows({}, -2_500)[2]).toBe('clock problem');
    expect(engineRows({}, 1_900)[2]).toBe('clock ok');
  });

  it('S14: a container is left over when nothing can still be at it', () => {
    const now = 10_000_000;
    const of = (state: 'created' | 'exited' | 'dead' | 'running', seconds: number, role = 'sandbox') =>
      leftover({ state, labels: { 'pi-sandbox.role': role }, createdAt: now - seconds * 1_000 }, now);
    expect(of('created', 59)).toBeUndefined();
    expect(of('created', 61)).toBe('was created 1 minute ago and never started');
    expect(of('exited', 5)).toBeUndefined();
    expect(of('exited', 3_600)).toBe('is exited, made 1 hour ago');
    expect(of('dead', 3_600)).toBe('is dead, made 1 hour ago');
    expect(of('running', 86_400)).toBeUndefined();
    expect(of('running', 300, 'helper')).toBeUndefined();
    expect(of('running', 700, 'helper')).toBe('is a helper that was made 11 minutes ago and still runs');
  });

  it('S1: volumes never prepared, and ones of different users, are told; foreign lines are not', () => {
    const volumes = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];
    expect(judgeInsides(volumes, '0 1000 filled\n1 1000 filled\n2 1000 filled\n')).toEqual([]);
    const rows = judgeInsides(volumes, '0 1000 filled\n1 1001 filled\n2 0 \n7 0 filled\nnonsense\n');
    expect(rows.map(({ detail }) => detail)).toEqual([
      'c was made and never prepared',
      'they belong to different users: a: 1000, b: 1001',
    ]);
  });
});
