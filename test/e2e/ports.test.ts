import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { eventually } from '../setup/look.ts';

let here: Installation;
let project: string;

beforeAll(async () => {
  here = await installation();
  project = here.project();
});

afterAll(async () => {
  await here.cleanup();
  expect(await here.leftovers()).toEqual([]);
});

/** Starts a web server in the sandbox that outlives the command which started it. */
async function serveInside(port: number, answer: string, address = '127.0.0.1'): Promise<void> {
  const server = `require('http').createServer((q, r) => r.end('${answer} ' + q.url)).listen(${port}, '${address}')`;
  const script = `(setsid node -e "${server}" >/dev/null 2>&1 &)
    until curl -s -o /dev/null localhost:${port}; do sleep 0.1; done`;
  const result = await here.run(['shell', project, '--', 'bash', '-c', script]);
  expect(result).toMatchObject({ exitCode: 0 });
}

/** A forward and the local port that it chose. */
async function forward(words: string[]): Promise<{ child: ChildProcessWithoutNullStreams; port: number }> {
  const child = here.start(['forward', ...words], { cwd: project });
  const [line] = await once(child.stdout, 'data');
  const port = Number(/^127\.0\.0\.1:(\d+) -> /.exec(String(line))?.[1]);
  expect(port).toBeGreaterThan(0);
  return { child, port };
}

async function get(port: number, path: string): Promise<string> {
  return (await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(10_000) })).text();
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

describe('S14: ports', () => {
  it('S14: forward reaches a port of a running sandbox, without a restart, as often as one likes at once', async () => {
    await here.run(['shell', project, '--', 'true']);
    await serveInside(3000, 'inside');
    const { child, port } = await forward(['0:3000']);
    const paths = Array.from({ length: 20 }, (_, at) => `/${at}`);
    expect(await Promise.all(paths.map((path) => get(port, path)))).toEqual(
      paths.map((path) => `inside ${path}`),
    );
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([130, null]);
  });

  it('S14: a forward keeps the sandbox running, survives the loss of its connection, and ends with the sandbox', async () => {
    const idleSoon = { env: { PI_SANDBOX_IDLE_STOP_MINUTES: '0.05' } };
    await here.run(['shell', project, '--', 'true'], idleSoon);
    const { child, port } = await forward(['0:3000']);
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    expect(await get(port, '/a')).toBe('inside /a');
    // What carries the frames dies; the sandbox and the command don't.
    await here.run(['shell', project, '--', 'pkill', 'socat'], idleSoon);
    await eventually('the relay again', async () => (await get(port, '/b').catch(() => '')) === 'inside /b');
    let errors = '';
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    const exit = once(child, 'exit');
    await here.run(['stop', project]);
    expect(await exit).toEqual([0, null]);
    expect(errors).toContain('has ended, and the forward with it');
  });

  it('S14: publish reaches a port of a new sandbox on loopback, and ports lists both sides', async () => {
    const port = await freePort();
    const made = await here.run(['shell', project, '-p', `${port}:8080`, '-p', '9090', '--', 'true']);
    expect(made).toMatchObject({ exitCode: 0, stderr: '' });
    await serveInside(8080, 'published', '0.0.0.0');
    expect(await get(port, '/x')).toBe('published /x');
    const listed = JSON.parse((await here.run(['ports', project, '--json'])).stdout);
    expect(listed.ports).toMatchObject([
      {
        port: 8080,
        address: '0.0.0.0',
        command: expect.stringContaining('node'),
        published: [`127.0.0.1:${port}`],
      },
      { port: 9090, address: '', published: [expect.stringMatching(/^127\.0\.0\.1:\d+$/)] },
    ]);
    const shown = await here.run(['ports', project]);
    expect(shown.stdout).toMatch(new RegExp(`8080 +0\\.0\\.0\\.0 +127\\.0\\.0\\.1:${port} +node`));
  });

  it.skipIf(process.getuid?.() !== 0)('S14: another user of this machine cannot use a forward', async () => {
    const { child, port } = await forward(['0:8080']);
    const url = `http://127.0.0.1:${port}/`;
    const other = await execa(
      'setpriv',
      ['--reuid=1001', '--regid=1001', '--clear-groups', 'curl', '-sS', '-m5', url],
      {
        reject: false,
      },
    );
    expect(other.exitCode).not.toBe(0);
    expect(other.stdout).toBe('');
    expect(await get(port, '/own')).toBe('published /own');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([143, null]);
  });

  it('S14: what cannot be is one clear line', async () => {
    const cases: [string[], RegExp][] = [
      [['forward', '70000', project], /70000 is not a port/],
      [['forward', '3000', 'a', 'b'], /ports and one project/],
      [['forward', '3000', `${project}/none`], /no sandbox/],
      [['shell', here.project(), '--publish', '80:x', '--', 'true'], /--publish 80:x: expected/],
      [['shell', here.project(), '--network', 'none', '-p', '80', '--', 'true'], /forward 80/],
      [['shell', project, '-p', '81', '--', 'true'], /--publish can be given to a new one only/],
    ];
    for (const [words, message] of cases) {
      const { exitCode, stderr, stdout } = await here.run(words);
      expect(stderr).toMatch(message);
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    }
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const busy = await here.run(['forward', `${port}:8080`, project]);
    taken.close();
    expect(busy).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is in use on this machine') });
  });

  it('S14: a published port that is taken ends the start with its reason and leaves nothing', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const other = here.project();
    const result = await here.run(['shell', other, '-p', `${port}:80`, '--', 'true']);
    taken.close();
    expect(result).toMatchObject({ exitCode: 1, stdout: '' });
    expect(result.stderr).toContain(String(port));
    expect((await here.leftovers()).filter((line) => line.includes('shop')).length).toBe(1);
  });
});
