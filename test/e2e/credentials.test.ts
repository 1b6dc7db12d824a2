import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { eventually, inspect, processesOf, sandboxOf } from '../setup/look.ts';
import { hostAddress } from '../setup/model-server.ts';

const SECRET = 'sk-secret-7f3a9c';

let here: Installation;
let project: string;

beforeAll(async () => {
  here = await installation();
  here.configure('.env', 'PASS_ENV=ANTHROPIC_API_KEY\n');
  project = here.project();
});

afterAll(async () => {
  await here.cleanup();
  expect(await here.leftovers()).toEqual([]);
});

describe('S10: keys', () => {
  it('S10: a key on the allow-list reaches pi and its tools, and is nowhere to be seen from outside', async () => {
    const child = here.start(
      [
        'start',
        '--demo',
        project,
        '--',
        '-p',
        'run touch began; test "$ANTHROPIC_API_KEY" = "$EXPECTED" && echo same; until [ -e looked ]; do sleep 0.1; done',
      ],
      { env: { ANTHROPIC_API_KEY: SECRET, EXPECTED: 'not passed' } },
    );
    child.stdin.end();
    let output = '';
    child.stdout.on('data', (piece) => {
      output += String(piece);
    });
    const ended = once(child, 'close');
    await eventually('the tool', async () => existsSync(join(project, 'began')));
    const container = await sandboxOf(here, project);
    const seen = [
      JSON.stringify(await inspect(here, container)),
      (await processesOf(here, container)).join('\n'),
      await here.engine.command(['logs', container], { tolerant: true }),
      await here.engine.command(['history', '--no-trunc', here.image]),
      await here.engine.command(['exec', container, 'env']),
    ];
    writeFileSync(join(project, 'looked'), '');
    await ended;
    for (const text of seen) expect(text).not.toContain(SECRET);
    expect(output).not.toContain('same');
    const files = await here.run([
      'shell',
      project,
      '--',
      'sh',
      '-c',
      'grep -rl sk-secret-7f /home/pi ~ /run/pi-session 2>/dev/null',
    ]);
    expect(files.stdout).toBe('');
  });

  it('S10: it is there for each start that has it, also one that joins', async () => {
    const print = ['shell', project, '--', 'sh', '-c', 'echo "$ANTHROPIC_API_KEY"'];
    expect((await here.run(print, { env: { ANTHROPIC_API_KEY: SECRET } })).stdout).toBe(`${SECRET}\n`);
    expect((await here.run(print)).stdout).toBe('\n');
  });

  it('S10: nothing else of the environment passes', async () => {
    const { stdout } = await here.run(['shell', project, '--', 'env'], {
      env: { OPENAI_API_KEY: SECRET, AWS_SECRET_ACCESS_KEY: SECRET, SSH_AUTH_SOCK: '/somewhere' },
    });
    expect(stdout).not.toContain(SECRET);
    expect(stdout).not.toContain('SSH_AUTH_SOCK');
  });

  it('S10: a login that is stored in the sandbox is used', async () => {
    const login = JSON.stringify({ anthropic: { type: 'api_key', key: SECRET } });
    await here.run(['shell', project, '--', 'sh', '-c', 'cat > ~/.pi/agent/auth.json'], { input: login });
    const result = await here.run([
      'start',
      project,
      '--',
      'auth',
      'check',
      '--provider',
      'anthropic',
      '--json',
    ]);
    expect(result.stdout).toContain('"ready"');
  });
});

describe('S10: the certificates of a company’s proxy', () => {
  let server: Server;
  let url: string;
  let authority: string;

  beforeAll(async () => {
    const at = (name: string): string => join(here.directory, name);
    const openssl = (...args: string[]): void => {
      execFileSync('openssl', args, { stdio: 'pipe' });
    };
    const subject = ['-subj', '/CN=pi-sandbox test authority', '-days', '2', '-nodes'];
    openssl('req', '-x509', '-newkey', 'rsa:2048', '-keyout', at('ca.key'), '-out', at('ca.pem'), ...subject);
    openssl(
      'req',
      '-newkey',
      'rsa:2048',
      '-keyout',
      at('s.key'),
      '-out',
      at('s.csr'),
      '-nodes',
      '-subj',
      '/CN=test',
    );
    here.configure('ext', `subjectAltName=IP:${hostAddress()}\n`);
    const signed = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial', '-days', '2'];
    openssl(
      'x509',
      '-req',
      '-in',
      at('s.csr'),
      ...signed,
      '-out',
      at('s.pem'),
      '-extfile',
      join(here.configDirectory, 'ext'),
    );
    authority = at('ca.pem');
    const keys = { key: readFileSync(at('s.key')), cert: readFileSync(at('s.pem')) };
    server = createServer(keys, (request, response) => {
      response.statusCode = request.url?.includes('info/refs') ? 404 : 200;
      response.end('trusted');
    });
    server.listen(0, '0.0.0.0');
    await once(server, 'listening');
    const address = server.address();
    url = `https://${hostAddress()}:${typeof address === 'object' ? address?.port : ''}/`;
  });

  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const ask = (script: string, env: NodeJS.ProcessEnv) =>
    here.run(['shell', project, '--', 'sh', '-c', script], { env });
  const scripts = {
    curl: () => `curl -sS ${url}`,
    node: () =>
      `node -e 'fetch("${url}").then((r) => r.text()).then(console.log, (e) => { console.error(e.cause); process.exit(1); })'`,
    git: () => `git ls-remote ${url} 2>&1; true`,
  };

  it('S10: without them nothing in the sandbox trusts such a server', async () => {
    await here.run(['stop', project]);
    expect((await ask(scripts.curl(), {})).exitCode).not.toBe(0);
    expect((await ask(scripts.git(), {})).stdout).toMatch(
      /certificate verification failed|certificate problem/,
    );
  });

  it('S10: with them curl, node and git do, and the file holds no private key', async () => {
    for (const env of [{ NODE_EXTRA_CA_CERTS: authority }, { PI_SANDBOX_CA_CERTIFICATES: authority }]) {
      await here.run(['stop', project]);
      expect(await ask(scripts.curl(), env)).toMatchObject({ exitCode: 0, stdout: 'trusted' });
      expect(await ask(scripts.node(), env)).toMatchObject({ exitCode: 0, stdout: 'trusted\n' });
      expect((await ask(scripts.git(), env)).stdout).toContain('not found');
      const variables = await ask('cat "$NODE_EXTRA_CA_CERTS"; npm config get cafile', env);
      expect(variables.stdout).toContain(readFileSync(authority, 'utf8').trim().split('\n')[1]);
      expect(variables.stdout).not.toContain('PRIVATE KEY');
      expect(variables.stdout).toContain('ca-certificates.crt');
    }
  });

  it('S10: proxy variables are handed on in both spellings, and one with a password is not on show', async () => {
    await here.run(['stop', project]);
    const env = {
      HTTP_PROXY: 'http://proxy.example:3128',
      HTTPS_PROXY: 'http://me:pass-9w@proxy.example:3128',
      NO_PROXY: 'localhost',
    };
    const { stdout } = await ask('echo "$HTTP_PROXY $http_proxy $https_proxy $no_proxy"', env);
    expect(stdout).toBe(
      'http://proxy.example:3128 http://proxy.example:3128 http://me:pass-9w@proxy.example:3128 localhost\n',
    );
    const shown = JSON.stringify(await inspect(here, await sandboxOf(here, project)));
    expect(shown).toContain('HTTP_PROXY=http://proxy.example:3128');
    expect(shown).not.toContain('pass-9w');
  });
});
