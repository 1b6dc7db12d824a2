import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectionProblem } from '../../../src/engine/errors.ts';
import { findEngine } from '../../../src/engine/find-engine.ts';
import { openEngine } from '../../../src/engine/index.ts';
import { sshArguments } from '../../../src/engine/ssh-connection.ts';
import { createTransport } from '../../../src/engine/transport.ts';
import { UsageError } from '../../../src/lib/errors.ts';

describe('findEngine', () => {
  let home: string;
  const servers: Server[] = [];

  beforeEach(async () => {
    home = await mkdtemp(path.join(tmpdir(), 'pi-find-'));
  });
  afterEach(async () => {
    for (const server of servers.splice(0)) server.close();
    await rm(home, { recursive: true, force: true });
  });

  /** A socket that accepts; what it does then is the test's. */
  async function listen(name: string, onConnection: (socket: import('node:net').Socket) => void = () => {}) {
    const socketPath = path.join(home, name);
    await mkdir(path.dirname(socketPath), { recursive: true });
    const server = createServer(onConnection);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(socketPath, resolve));
    return socketPath;
  }

  async function context(name: string, host: string, options: { skipVerify?: boolean; tls?: boolean } = {}) {
    const id = createHash('sha256').update(name).digest('hex');
    const meta = path.join(home, '.docker/contexts/meta', id);
    await mkdir(meta, { recursive: true });
    const docker = { Host: host, SkipTLSVerify: options.skipVerify === true };
    await writeFile(
      path.join(meta, 'meta.json'),
      JSON.stringify({ Name: name, Metadata: {}, Endpoints: { docker } }),
    );
    if (!options.tls) return;
    const tls = path.join(home, '.docker/contexts/tls', id, 'docker');
    await mkdir(tls, { recursive: true });
    await writeFile(path.join(tls, 'ca.pem'), 'x');
  }

  const find = (env: Record<string, string> = {}, engine?: string) =>
    findEngine({
      env,
      home,
      systemSockets: [path.join(home, 'sys.sock'), path.join(home, 'pod.sock')],
      ...(engine === undefined ? {} : { engine }),
    });

  it('S19: --engine wins over DOCKER_HOST, which wins over the context, which wins over sockets', async () => {
    await listen('sys.sock');
    const host = await listen('host.sock');
    const flag = await listen('flag.sock');
    await context('mine', `unix://${await listen('context.sock')}`);
    await writeFile(
      path.join(home, '.docker/config.json'),
      JSON.stringify({ currentContext: 'mine', auths: {} }),
    );
    const env = { DOCKER_HOST: `unix://${host}` };
    expect((await find(env, `unix://${flag}`)).strategy).toBe('--engine');
    expect(await find(env)).toMatchObject({ strategy: 'DOCKER_HOST', endpoint: { socketPath: host } });
    expect((await find()).strategy).toBe('docker context mine');
    expect((await find({ DOCKER_CONTEXT: 'default' })).strategy).toBe('known socket');
  });

  it.each([
    ['.docker/run/docker.sock'],
    ['.docker/desktop/docker.sock'],
    ['.colima/default/docker.sock'],
    ['run/docker.sock'],
    ['run/podman/podman.sock'],
    ['pod.sock'],
  ])('S19: the known socket %s is found', async (name) => {
    const socketPath = await listen(name);
    const found = await find({ XDG_RUNTIME_DIR: path.join(home, 'run') });
    expect(found).toMatchObject({ strategy: 'known socket', endpoint: { kind: 'unix', socketPath } });
  });

  it('S19: a socket file that nobody listens on is passed over', async () => {
    await writeFile(path.join(home, 'sys.sock'), '');
    const socketPath = await listen('pod.sock');
    expect((await find()).endpoint).toEqual({ kind: 'unix', socketPath });
  });

  it('S19: none found lists what was tried, why, and what to do', async () => {
    await writeFile(path.join(home, 'sys.sock'), '');
    const error = await find().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ hint: expect.stringContaining('--engine') });
    const text = String(error);
    for (const part of [
      '--engine: not set',
      'DOCKER_HOST: not set',
      'docker context: not set',
      'sys.sock',
      'does not exist',
    ]) {
      expect(text).toContain(part);
    }
  });

  it('S19: what the user named and does not work is an error, not passed over', async () => {
    await listen('sys.sock');
    const missing = path.join(home, 'missing.sock');
    await expect(find({ DOCKER_HOST: `unix://${missing}` })).rejects.toThrow(
      `engine (DOCKER_HOST): ${missing} does not exist`,
    );
    await expect(find({}, missing)).rejects.toThrow(/--engine.*does not exist/);
    await context('off', `unix://${missing}`);
    await expect(find({ DOCKER_CONTEXT: 'off' })).rejects.toThrow(/docker context off/);
    await expect(find({ DOCKER_CONTEXT: 'none' })).rejects.toThrow(
      'DOCKER_CONTEXT: there is no docker context named "none"',
    );
  });

  it('S19: a context may be far away, with its own certificates', async () => {
    await context('far', 'tcp://far.example:2376', { tls: true, skipVerify: true });
    const ca = expect.stringMatching(/docker\/ca\.pem$/);
    expect((await find({}, 'far')).endpoint).toEqual({
      kind: 'tcp',
      host: 'far.example',
      port: 2376,
      tls: { ca, verify: false },
    });
    await context('remote', 'ssh://me@far.example:2222');
    expect((await find({ DOCKER_CONTEXT: 'remote' })).endpoint).toEqual({
      kind: 'ssh',
      host: 'far.example',
      port: 2222,
      user: 'me',
    });
  });

  it('S19: DOCKER_TLS_VERIFY and DOCKER_CERT_PATH are honoured', async () => {
    await writeFile(path.join(home, 'cert.pem'), 'x');
    const env = { DOCKER_HOST: 'tcp://[::1]:4243', DOCKER_TLS_VERIFY: '1', DOCKER_CERT_PATH: home };
    expect((await find(env)).endpoint).toEqual({
      kind: 'tcp',
      host: '::1',
      port: 4243,
      tls: { cert: path.join(home, 'cert.pem'), verify: true },
    });
    expect((await find({ DOCKER_HOST: 'box:2375' })).endpoint).toEqual({
      kind: 'tcp',
      host: 'box',
      port: 2375,
    });
  });

  it.each([
    ['npipe:////./pipe/docker_engine', /named pipe/],
    ['ftp://x', /not an engine address/],
    ['unix://relative', /absolute socket path/],
    ['tcp://', /not an engine address/],
  ])('S19: DOCKER_HOST=%s is a usage error that names it', async (url, message) => {
    const error = await find({ DOCKER_HOST: url }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UsageError);
    expect(String(error)).toMatch(message);
    expect(String(error)).toContain('DOCKER_HOST');
  });

  it('S19: a host cannot become an option of ssh', () => {
    expect(sshArguments({ kind: 'ssh', host: 'box', user: 'me', port: 22 })).toEqual(
      expect.arrayContaining(['-l', 'me', '--', 'box', 'docker', 'system', 'dial-stdio']),
    );
    return expect(find({ DOCKER_HOST: 'ssh://-oProxyCommand=x' })).rejects.toThrow(UsageError);
  });

  it('S19: broken docker config names the file', async () => {
    await mkdir(path.join(home, '.docker'));
    await writeFile(path.join(home, '.docker/config.json'), '{');
    await expect(find()).rejects.toThrow(/config\.json: is not valid JSON/);
  });

  it('S19: a daemon that accepts and says nothing is told after its time', async () => {
    const socketPath = await listen('sys.sock');
    const transport = await createTransport({ kind: 'unix', socketPath }, 'known socket', 100);
    await expect(transport.call({ method: 'GET', path: '/volumes/x' })).rejects.toThrow(
      `engine (known socket): ${socketPath} accepts connections but did not answer within 0.1 s`,
    );
  });

  it('S19: a long first call is no silence while the engine answers a ping', async () => {
    const ok = (body: string) =>
      `HTTP/1.1 200 OK\r\nServer: Libpod/4\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const socketPath = await listen('sys.sock', (socket) => {
      socket.on('data', (data) => {
        const ping = data.toString().startsWith('GET /_ping');
        setTimeout(() => socket.write(ok(ping ? 'OK' : '{"a":1}')), ping ? 0 : 2500);
      });
    });
    const transport = await createTransport({ kind: 'unix', socketPath }, 'known socket', 2000);
    expect((await transport.call({ method: 'GET', path: '/slow' })).json).toEqual({ a: 1 });
    expect(await transport.kind()).toBe('podman');
    transport.close();
  });

  it('S19: an engine that answers and then hangs at a call, a stream’s too, is told which call it was', async () => {
    const ok = 'HTTP/1.1 200 OK\r\nServer: Docker/1\r\nContent-Length: 2\r\n\r\n{}';
    const socketPath = await listen('sys.sock', (socket) => {
      socket.on('data', (data) => data.toString().startsWith('GET /_ping') && socket.write(ok));
    });
    const transport = await createTransport({ kind: 'unix', socketPath }, 'known socket');
    await transport.kind();
    const request = { method: 'POST', path: '/containers/x/attach', timeoutMs: 100 } as const;
    for (const hanging of [transport.call(request), transport.upgrade(request)]) {
      await expect(hanging).rejects.toThrow('/containers/x/attach took longer than 0.1 s');
    }
    transport.close();
  });

  it('S19: an inherited DOCKER_HOST does not lead a connection astray', async () => {
    const ok = 'HTTP/1.1 404 Not Found\r\nServer: Docker/1\r\nContent-Length: 2\r\n\r\n{}';
    const socketPath = await listen('other.sock', (socket) => socket.on('data', () => socket.write(ok)));
    const inherited = process.env.DOCKER_HOST;
    process.env.DOCKER_HOST = 'tcp://127.0.0.1:1';
    try {
      const engine = await openEngine({ env: {}, engine: `unix://${socketPath}` });
      expect(await engine.volumes.inspect('x')).toBeUndefined();
      engine.close();
      expect(process.env.DOCKER_HOST).toBe('tcp://127.0.0.1:1');
    } finally {
      if (inherited === undefined) delete process.env.DOCKER_HOST;
      else process.env.DOCKER_HOST = inherited;
    }
  });

  it('S19: an engine over SSH is reached through the ssh of the user', async () => {
    const ok = 'HTTP/1.1 404 Not Found\r\nServer: Docker/1\r\nContent-Length: 2\r\n\r\n{}';
    const socketPath = await listen('far.sock', (socket) => socket.on('data', () => socket.write(ok)));
    await mkdir(path.join(home, 'bin'));
    const script = `const s=require('node:net').connect(${JSON.stringify(socketPath)});process.stdin.pipe(s).pipe(process.stdout)`;
    await writeFile(
      path.join(home, 'bin/ssh'),
      `#!/bin/sh\nexec ${process.execPath} -e ${JSON.stringify(script).replaceAll('\\"', "'")}\n`,
    );
    await chmod(path.join(home, 'bin/ssh'), 0o755);
    const inherited = process.env.PATH;
    process.env.PATH = `${path.join(home, 'bin')}:${inherited}`;
    try {
      const engine = await openEngine({ env: {}, home, engine: 'ssh://me@far.example' });
      expect(engine.address).toBe('ssh://me@far.example');
      expect(await engine.volumes.inspect('x')).toBeUndefined();
      engine.close();
      await writeFile(
        path.join(home, 'bin/ssh'),
        '#!/bin/sh\necho "Host key verification failed." >&2; exit 255\n',
      );
      const refused = await openEngine({ env: {}, home, engine: 'ssh://me@far.example' });
      await expect(refused.volumes.inspect('x')).rejects.toThrow(
        /ssh ended with 255: Host key verification failed/,
      );
      refused.close();
    } finally {
      process.env.PATH = inherited;
    }
  });

  it('S19: what can go wrong with a socket is said in words', () => {
    const problem = (code: string) => connectionProblem('/s', Object.assign(new Error(code), { code }));
    expect(problem('EACCES')).toEqual({
      message: 'permission denied on /s',
      hint: expect.stringContaining('docker group'),
    });
    expect(problem('ECONNREFUSED').message).toBe('nothing listens on /s');
    expect(problem('EAGAIN').message).toContain('does not accept connections');
    expect(problem('EPROTO').message).toContain('EPROTO');
  });
});
