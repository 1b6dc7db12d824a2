import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { pack } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ExecSession, ImageBuildError, NoSuchNetworkError } from '../../src/engine/index.ts';
import { dockerRound, LABEL, podmanRound, type Round, textOf } from './engine-fixture.ts';

describe.each([
  ['Docker', dockerRound],
  ['Podman', podmanRound],
])('S19: %s', (engineName, begin) => {
  let round: Round;
  beforeAll(async () => {
    round = await begin();
  });
  afterAll(async () => {
    await round?.end();
  });

  async function created(overrides: Parameters<Round['spec']>[0]): Promise<string> {
    const result = await round.engine.containers.create(round.spec(overrides));
    if (result.outcome !== 'created') throw new Error(`${result.outcome}: ${result.message}`);
    return result.id;
  }

  /** Runs a script to its end as the main program of a container. */
  async function run(script: string, overrides: Parameters<Round['spec']>[0] = {}, input = '') {
    const { containers } = round.engine;
    // One that ended before the end of its input was sent would take the connection and its last words along.
    const command = input === '' ? `cat >/dev/null; ${script}` : script;
    const id = await created({
      command: ['sh', '-c', command],
      openStdin: true,
      autoRemove: true,
      ...overrides,
    });
    const streams = await containers.attach(id);
    const { exit } = await containers.watchExit(id);
    expect(await containers.start(id)).toEqual({ outcome: 'started' });
    streams.stdin.end(input);
    const [stdout, stderr, { code }] = await Promise.all([
      textOf(streams.stdout),
      textOf(streams.stderr),
      exit,
    ]);
    await containers.waitRemoved(id, 20_000);
    return { stdout, stderr, code };
  }

  async function sleeping(overrides: Parameters<Round['spec']>[0] = {}): Promise<string> {
    const id = await created({ command: ['sleep', '1000'], ...overrides });
    expect(await round.engine.containers.start(id)).toEqual({ outcome: 'started' });
    return id;
  }

  async function exec(id: string, command: string[], env = {}): Promise<ExecSession> {
    const session = await round.engine.containers.exec(id, { command, env });
    if (session.outcome !== 'running') throw new Error(session.message);
    return session;
  }

  it('S14: attach gives exactly the bytes sent, both outputs apart, EOF by half-close and the exit code', async () => {
    const result = await run('cat; echo problem >&2; exit 42', {}, 'hello\n');
    expect(result).toEqual({ stdout: 'hello\n', stderr: 'problem\n', code: 42 });
  });

  it('S17: the hardened container is what it claims to be', async () => {
    const script =
      'id -u; grep -E "^(CapEff|NoNewPrivs)" /proc/self/status; touch /x; stat -c "%a %u" /run/t; env | grep A=';
    const result = await run(script, {
      readOnlyRoot: true,
      capDropAll: true,
      noNewPrivileges: true,
      limits: { memoryBytes: 64 * 1024 * 1024, cpus: 1, pids: 50 },
      tmpfs: [{ target: '/run/t', sizeBytes: 1024 * 1024, mode: 0o700, uid: 1000, gid: 1000 }],
      env: { A: 'b c' },
      discardLogs: true,
      hostname: 'box',
    });
    expect(result.stdout.replaceAll('\t', ' ')).toBe(
      '1000\nCapEff: 0000000000000000\nNoNewPrivs: 1\n700 1000\nA=b c\n',
    );
    expect(result.stderr).toContain('Read-only file system');
  });

  it('S17: a tmpfs is executable only when asked, and starts empty', async () => {
    const tmpfs = [
      { target: '/tmp', sizeBytes: 1024 * 1024, mode: 0o1777, exec: true },
      { target: '/etc', sizeBytes: 1024 * 1024, mode: 0o755 },
    ];
    const { stdout } = await run('mount | grep -E " /(tmp|etc) "; ls -a /tmp | wc -l', { tmpfs });
    const line = (target: string) => stdout.split('\n').find((row) => row.includes(` ${target} `)) ?? '';
    expect(line('/tmp')).not.toContain('noexec');
    expect(line('/tmp')).toContain('nosuid,nodev');
    expect(line('/etc')).toContain('noexec');
    expect(stdout.trim().endsWith('2')).toBe(true);
  });

  it('S18: mounts with spaces, colons, commas and quotes arrive as they are; inspect tells them', async () => {
    const { containers, volumes } = round.engine;
    const volume = `${round.name}-mount`;
    await volumes.create({ name: volume, labels: {} });
    const targets = ['/data/a b', '/data/c:d', '/data/e,f', '/data/\'"é'];
    const mounts = targets.map(
      (target) => ({ type: 'volume', source: volume, target, readOnly: true }) as const,
    );
    const id = await sleeping({ mounts });
    const info = await containers.inspect(id);
    expect(info?.mounts).toEqual(expect.arrayContaining(mounts));
    expect(info?.state).toBe('running');
    expect(info?.startedAt).toBeGreaterThan(Date.now() - 60_000);
    expect(await volumes.remove(volume)).toBe('in-use');
    await containers.remove(id, { force: true });
  });

  it('S14: of two creators of one name one gets it, the other a conflict', async () => {
    const name = `${round.name}-twice`;
    const spec = round.spec({ name, command: ['true'] });
    const results = await Promise.all([
      round.engine.containers.create(spec),
      round.engine.containers.create(spec),
    ]);
    expect(results.map((result) => result.outcome).sort()).toEqual(['conflict', 'created']);
    expect((await round.engine.containers.inspect(name))?.state).toBe('created');
    expect(await round.engine.containers.remove(name)).toBe('removed');
    expect(await round.engine.containers.remove(name)).toBe('gone');
  });

  it('S21: a missing image and a missing network are told apart', async () => {
    const { containers } = round.engine;
    const noImage = await containers.create(round.spec({ image: `${round.name}:missing` }));
    expect(noImage.outcome).toBe('no-such-image');
    const network = { mode: 'named', name: `${round.name}-missing` } as const;
    const result = await containers.create(round.spec({ network, command: ['true'] }));
    const outcome =
      result.outcome === 'created' ? (await containers.start(result.id)).outcome : result.outcome;
    expect(outcome).toBe('no-such-network');
  });

  it('S15: exec passes input, both outputs, environment and exit code', async () => {
    const id = await sleeping();
    const session = await exec(id, ['sh', '-c', 'cat; echo "$A" >&2; exit 7'], { A: 'b' });
    session.stdin.end('in');
    const [stdout, stderr, exit] = await Promise.all([
      textOf(session.stdout),
      textOf(session.stderr),
      session.exit(),
    ]);
    expect({ stdout, stderr, exit }).toEqual({
      stdout: 'in',
      stderr: 'b\n',
      exit: { outcome: 'exited', code: 7 },
    });
    await round.engine.containers.remove(id, { force: true });
  });

  it('S14: 8 MB go through exec and back byte-exact, with a slow reader', async () => {
    const id = await sleeping();
    const session = await exec(id, ['cat']);
    session.stderr.resume();
    const bytes = randomBytes(8 * 1024 * 1024);
    session.stdin.end(bytes);
    const hash = createHash('sha256');
    let reads = 0;
    for await (const chunk of session.stdout) {
      hash.update(chunk);
      if (reads++ % 50 === 0) await sleep(1);
    }
    expect(hash.digest('hex')).toBe(createHash('sha256').update(bytes).digest('hex'));
    expect(await session.exit()).toEqual({ outcome: 'exited', code: 0 });
    await round.engine.containers.remove(id, { force: true });
  });

  it('S20: a dropped connection is told apart from an exit', async () => {
    const id = await sleeping();
    const session = await exec(id, ['sleep', '5']);
    session.disconnect();
    expect(await session.exit()).toEqual({ outcome: 'lost' });
    expect((await session.ended).outcome).toBe('lost');
    await round.engine.containers.remove(id, { force: true });
  });

  it('S20: the end of the container is told by exec as gone or exited, never as success', async () => {
    const id = await sleeping({ autoRemove: true });
    const session = await exec(id, ['sleep', '100']);
    session.stdout.resume();
    session.stderr.resume();
    await round.engine.containers.kill(id);
    const exit = await session.exit();
    expect(exit).not.toEqual({ outcome: 'exited', code: 0 });
    await round.engine.containers.waitRemoved(id, 20_000);
    expect((await round.engine.containers.exec(id, { command: ['true'] })).outcome).toBe('gone');
  });

  it('S15: stop, kill and exec of what does not run are told', async () => {
    const { containers } = round.engine;
    const id = await created({ command: ['sleep', '1000'] });
    expect(await containers.kill(id)).toBe('not-running');
    expect((await containers.exec(id, { command: ['true'] })).outcome).toBe('refused');
    expect((await containers.start(id)).outcome).toBe('started');
    expect((await containers.start(id)).outcome).toBe('already-started');
    expect(await containers.remove(id)).toBe('running');
    expect(await containers.memoryUsage(id)).toBeGreaterThan(0);
    expect(await containers.stop(id, 0)).toBe('stopped');
    expect(await containers.stop(id, 0)).toBe('not-running');
    expect(await containers.memoryUsage(id)).toBeFalsy();
    expect(await containers.remove(id)).toBe('removed');
    expect(await containers.stop(id, 0)).toBe('gone');
    expect(await containers.kill(id)).toBe('gone');
    expect((await containers.start(id)).outcome).toBe('gone');
    expect(await containers.inspect(id)).toBeUndefined();
  });

  it('S15: listings match label values exactly', async () => {
    const { containers } = round.engine;
    const id = await created({ command: ['true'], labels: { [LABEL]: round.name, 'x.domain': 'work' } });
    const ids = async (value: string | undefined) =>
      (await containers.list({ [LABEL]: round.name, 'x.domain': value })).map((container) => container.id);
    expect(await ids('work')).toEqual([id]);
    expect(await ids(undefined)).toEqual([id]);
    expect(await ids('wor')).toEqual([]);
    await containers.remove(id);
  });

  it('S1: creating a volume twice keeps the first; the prefix is exact; sizes are told', async () => {
    const { volumes } = round.engine;
    const name = `${round.name}-state`;
    await volumes.create({ name, labels: { [LABEL]: 'first' } });
    expect((await volumes.create({ name, labels: { [LABEL]: 'second' } })).labels[LABEL]).toBe('first');
    expect((await volumes.inspect(name))?.name).toBe(name);
    const racing = Array.from({ length: 12 }, () => volumes.create({ name: `${name}-raced`, labels: {} }));
    expect(new Set((await Promise.all(racing)).map((made) => made.name))).toEqual(new Set([`${name}-raced`]));
    expect(await volumes.remove(`${name}-raced`)).toBe('removed');
    expect((await volumes.list({ namePrefix: name })).map((volume) => volume.name)).toEqual([name]);
    expect(await volumes.list({ namePrefix: name.slice(1) })).toEqual([]);
    expect(await round.engine.system.volumeSizes()).toBeInstanceOf(Map);
    expect(await volumes.remove(name)).toBe('removed');
    expect(await volumes.remove(name)).toBe('gone');
    expect(await volumes.inspect(name)).toBeUndefined();
  });

  it('S17: networks: made once, overlaps and use are told, removed', async () => {
    const { networks, containers } = round.engine;
    const third = engineName === 'Docker' ? 211 : 212;
    const spec = {
      name: `${round.name}-net`,
      subnet: `10.${third}.113.0/26`,
      labels: { [LABEL]: round.name },
      isolateContainers: true,
    };
    const first = await networks.create(spec);
    if (first.outcome !== 'created') throw new Error(first.message);
    expect(first.isolated).toBe(engineName === 'Docker');
    expect((await networks.create({ ...spec, subnet: `10.${third}.114.0/26` })).outcome).toBe('exists');
    expect((await networks.create({ ...spec, name: `${spec.name}-2` })).outcome).toBe('pool-overlaps');
    expect((await networks.list({ [LABEL]: round.name })).map(({ subnets }) => subnets)).toEqual([
      [spec.subnet],
    ]);
    expect((await networks.inspect(spec.name))?.name).toBe(spec.name);
    const id = await sleeping({
      network: { mode: 'named', name: spec.name },
      publish: [{ hostIp: '127.0.0.1', hostPort: 0, containerPort: 80 }],
    });
    expect(await networks.remove(first.id)).toBe('in-use');
    await containers.remove(id, { force: true });
    expect(await networks.remove(first.id)).toBe('removed');
    expect(await networks.remove(first.id)).toBe('gone');
  });

  it('S17: a container whose network is taken away before it starts says so', async () => {
    const { networks, containers } = round.engine;
    const third = engineName === 'Docker' ? 211 : 212;
    const name = `${round.name}-stolen`;
    const subnet = `10.${third}.115.0/26`;
    const made = await networks.create({
      name,
      subnet,
      labels: { [LABEL]: round.name },
      isolateContainers: true,
    });
    if (made.outcome !== 'created') throw new Error(made.message);
    const id = await created({ command: ['true'], network: { mode: 'named', name } });
    // By its id Podman takes it also from a container that has only been made, as a stop may that looked before.
    await execa(engineName.toLowerCase(), ['network', 'rm', made.id]);
    const outcome = await containers.attach(id).then(
      async (streams) => {
        streams.disconnect();
        return (await containers.start(id)).outcome;
      },
      (error: unknown) => (error instanceof NoSuchNetworkError ? 'no-such-network' : String(error)),
    );
    expect(outcome).toBe('no-such-network');
  });

  it('S21: a build shows progress, tags and labels; a failed one has the full log', async () => {
    const { images } = round.engine;
    const tag = `${round.name}:built`;
    const lines: string[] = [];
    const labels = { [LABEL]: round.name, hash: 'abc' };
    const dockerfile = (step: string) => `FROM ${round.image}\nRUN ["sh", "-c", "${step}"]\n`;
    await images.build({
      context: context(dockerfile('echo building it')),
      tags: [tag],
      labels,
      onProgress: (line) => lines.push(line),
    });
    expect(lines).toContain('building it');
    expect((await images.inspect(tag))?.labels.hash).toBe('abc');
    expect((await images.list({ [LABEL]: round.name, hash: 'abc' })).length).toBe(1);
    const failing = images.build({
      context: context(dockerfile('echo the reason; exit 3')),
      tags: [tag],
      labels,
    });
    const error = await failing.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ImageBuildError);
    expect(error instanceof ImageBuildError && error.log).toContain('the reason');
    expect(await images.remove(tag)).toBe('removed');
    expect(await images.inspect(tag)).toBeUndefined();
    expect(await images.remove(tag)).toBe('gone');
  });

  it('S16: the engine tells about itself', async () => {
    const info = await round.engine.system.info();
    expect(info.isPodman).toBe(engineName === 'Podman');
    expect(info.totalMemoryBytes).toBeGreaterThan(0);
    expect(info.version).toMatch(/^\d/);
    expect(info.apiVersion).toMatch(/^1\./);
  });
});

function context(dockerfile: string) {
  const tar = pack();
  tar.entry({ name: 'Dockerfile' }, dockerfile);
  tar.finalize();
  return tar;
}
