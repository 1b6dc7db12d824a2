import { readdirSync, realpathSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { PODMAN_INSTALLED, podmanEngine } from '../setup/engines.ts';
import { type Installation, installation } from '../setup/installation.ts';
import { sandboxOf } from '../setup/look.ts';
import { type Row, tamper } from './selftest-fixture.ts';

let here: Installation;

beforeAll(async () => {
  here = await installation();
});

afterAll(async () => {
  await here.cleanup();
  expect(await here.leftovers()).toEqual([]);
});

async function selftest(
  args: string[],
  options: Parameters<Installation['run']>[1] = {},
  at = here,
): Promise<{ exitCode: number | undefined; failed: string[]; rows: Map<string, Row> }> {
  const { exitCode, stdout, stderr } = await at.run(['selftest', '--json', ...args], {
    timeout: 110_000,
    ...options,
  });
  if (stdout === '') throw new Error(stderr);
  const rows: Row[] = JSON.parse(stdout).checks;
  const failed = rows
    .filter(({ result }) => result === 'FAIL')
    .map(({ check, detail }) => `${check}: ${detail}`);
  return { exitCode, failed, rows: new Map(rows.map((row) => [row.check, row])) };
}

async function doctor(env: NodeJS.ProcessEnv = {}): Promise<{ exitCode: number | undefined; rows: Row[] }> {
  const { exitCode, stdout, stderr } = await here.run(['doctor', '--json'], { env });
  if (stdout === '') throw new Error(stderr);
  return { exitCode, rows: JSON.parse(stdout).checks };
}

describe('S16: selftest', () => {
  it('S1, S16: on a fresh installation it makes what is missing, all of it is well, and no Session is left', async () => {
    const project = here.project();
    const { exitCode, failed, rows } = await selftest([], { cwd: project });
    expect(failed).toEqual([]);
    expect(exitCode).toBe(0);
    expect(rows.get('Session written and found')?.result).toBe('ok');
    expect(rows.get('Session lock')?.result).toBe('ok');
    expect(rows.get('presence')?.result).toBe('ok');
    const left = await here.run([
      'shell',
      project,
      '--',
      'sh',
      '-c',
      'find ~/.pi/agent/sessions/ -name "*.jsonl"',
    ]);
    expect(left).toMatchObject({ exitCode: 0, stdout: '' });
    expect(readdirSync(project)).toEqual([]);
  });

  it('S16: it joins a running sandbox, as that was made, and prints a table', async () => {
    const project = here.project();
    const options = ['--network', 'none', '--read-only-project', '--memory', '512m'];
    await here.run(['shell', ...options, project, '--', 'true']);
    const { failed, rows } = await selftest([project]);
    expect(failed).toEqual([]);
    expect(rows.get('network policy')).toMatchObject({ result: 'ok', detail: 'none: loopback only' });
    expect(rows.get('project')).toMatchObject({ result: 'ok', detail: 'read-only, as asked for' });
    expect(rows.get('memory limit')?.detail).toMatch(/^512 MiB; a new sandbox would get /);
    const table = await here.run(['selftest', project]);
    expect(table.exitCode).toBe(0);
    expect(table.stdout).toMatch(/^CHECK\s+RESULT\s+DETAIL\n/);
    expect(table.stdout).toMatch(/\nread-only root\s+ok\s/);
  });

  it('S17: sandboxes of another domain, and of its own, are tried and not reached', async () => {
    const env = { PI_SANDBOX_DOMAINS: 'work,private', PI_SANDBOX_DEFAULT_DOMAIN: 'work' };
    const [project, sibling, foreign] = [here.project(), here.project(), here.project()];
    await here.run(['shell', sibling, '--', 'true'], { env });
    await here.run(['shell', '--domain', 'private', foreign, '--', 'true'], { env });
    const { failed, rows } = await selftest([project], { env });
    expect(failed).toEqual([]);
    expect(rows.get('other sandboxes')?.detail).toMatch(/^([2-9]|\d\d) address\(es\), none reached$/);
  });

  it('S17: a capability, a missing no-new-privileges and the socket of the engine fail', async () => {
    const project = here.project();
    const socket = '/var/run/docker.sock';
    await tamper(here, project, [
      ...['--cap-add', 'NET_RAW', '--volume', `${socket}:${socket}`],
      ...['--security-opt', 'no-new-privileges=false'],
    ]);
    const { exitCode, failed } = await selftest([project]);
    expect(exitCode).toBe(1);
    expect(failed).toEqual([
      expect.stringMatching(/^no capabilities: CapBnd is 0+2000; added: .*NET_RAW/),
      'no new privileges: NoNewPrivs is 0',
      expect.stringMatching(/^no way to the engine: .*docker\.sock is there.*is mounted at/),
    ]);
    const table = await here.run(['selftest', project]);
    expect(table.exitCode).toBe(1);
    expect(table.stdout).toMatch(/\nno capabilities\s+FAIL\s/);
    expect(table.stderr).toMatch(/3 of \d+ checks failed/);
  });

  it("S17: another domain's volume, another network, and a sandbox that is reached over it fail", async () => {
    const [project, reached] = [here.project(), here.project()];
    await here.run(['shell', reached, '--', 'true']);
    const volume = `${here.prefix}pi-sessions-other`;
    const network = `${here.prefix}elsewhere`;
    await here.engine.command(['volume', 'create', volume]);
    await here.engine.command(['network', 'create', '--subnet', '10.214.250.0/28', network]);
    await tamper(here, project, ['--mount', `type=volume,source=${volume},target=/mnt`]);
    for (const each of [project, reached]) {
      await here.engine.command(['network', 'connect', network, await sandboxOf(here, each)]);
    }
    const { failed } = await selftest([project]);
    expect(failed).toEqual([
      expect.stringContaining(`other domains' volumes: the volume ${volume} at /mnt`),
      `network policy: it is on the network ${network}`,
      expect.stringMatching(/^other sandboxes: 10\.214\.250\.\d+ answers \(ECONNREFUSED\)$/),
    ]);
  });

  it('S10: certificates of the host are trusted by node inside', async () => {
    const project = here.project();
    const bundle = '/etc/ssl/certs/ca-certificates.crt';
    const { failed, rows } = await selftest([project], { env: { PI_SANDBOX_CA_CERTIFICATES: bundle } });
    expect(failed).toEqual([]);
    expect(rows.get('certificates')?.detail).toMatch(/^\d+ trusted$/);
  });

  it('S16: a project that is refused for a start is refused for a selftest', async () => {
    const { exitCode, stderr } = await here.run(['selftest', '/etc']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('/etc is a system path');
  });
});

describe('S16: doctor', () => {
  it('S16: on a good installation nothing is a problem, and every row says what was seen', async () => {
    const { exitCode, rows } = await doctor();
    expect(exitCode).toBe(0);
    expect(rows.filter(({ result }) => result === 'problem')).toEqual([]);
    const checks = new Set(rows.map(({ check }) => check));
    for (const check of ['Node.js', 'configuration', 'engine', 'isolation', 'clock', 'image', 'containers']) {
      expect(checks).toContain(check);
    }
    expect(rows.find(({ check }) => check === 'engine')?.detail).toMatch(/Docker Engine \d.*API \d/);
  });

  it('S16: what killed commands leave is told, each with the command that removes it', async () => {
    const label = `pi-sandbox.prefix=${here.prefix}`;
    const made = (name: string) => `${here.prefix}${name}`;
    const create = async (name: string, role: string): Promise<void> => {
      const labels = ['--label', label, '--label', `pi-sandbox.role=${role}`, '--name', made(name)];
      await here.engine.command(['run', ...labels, '--entrypoint', '/bin/true', here.image]);
    };
    await create('pi-sandbox-left', 'sandbox');
    await create('helper-left', 'helper');
    const network = ['--label', label, '--label', 'pi-sandbox.role=network', '--subnet', '10.214.251.0/28'];
    await here.engine.command(['network', 'create', ...network, made('pi-network-gone')]);
    await here.engine.command(['volume', 'create', made('pi-domain-state-gone')]);
    await new Promise((resolve) => setTimeout(resolve, 11_000));
    const { exitCode, rows } = await doctor();
    expect(exitCode).toBe(0);
    const advice = rows.filter(({ result }) => result === 'warning').map((row) => row.advice);
    expect(advice).toContain(`docker rm -f ${made('pi-sandbox-left')}`);
    expect(advice).toContain(`docker rm -f ${made('helper-left')}`);
    expect(advice).toContain(`docker network rm ${made('pi-network-gone')}`);
    const details = rows.map(({ detail }) => detail);
    expect(details).toContainEqual(
      expect.stringContaining(
        `${made('pi-domain-state-gone')} is of the domain gone, which is not configured`,
      ),
    );
    expect(details).toContainEqual(`${made('pi-domain-state-gone')} was made and never prepared`);
  });

  it('S6, S19: a bad configuration and a missing engine are problems, and both are told', async () => {
    const bad = await doctor({ PI_SANDBOX_PIDS: 'lots' });
    expect(bad.exitCode).toBe(1);
    expect(bad.rows.find(({ result }) => result === 'problem')).toMatchObject({
      check: 'configuration',
      detail: expect.stringContaining('PIDS'),
    });
    const none = await here.run(['doctor'], { env: { DOCKER_HOST: 'unix:///nowhere.sock' } });
    expect(none.exitCode).toBe(1);
    expect(none.stdout).toMatch(/\nengine\s+problem\s.*\/nowhere\.sock does not exist/);
  });
});

describe.runIf(PODMAN_INSTALLED)('S16, S19: with Podman', () => {
  it('S19: selftest and doctor say the same there', async () => {
    const engine = await podmanEngine(realpathSync(here.directory), inject('e2e').image);
    const there = await installation(engine);
    try {
      const { failed } = await selftest([there.project()], {}, there);
      expect(failed).toEqual([]);
      const { exitCode, stdout } = await there.run(['doctor']);
      expect(stdout).toMatch(/\nengine\s+ok\s+Podman \d/);
      expect(exitCode, stdout).toBe(0);
    } finally {
      await there.cleanup();
    }
  });
});
