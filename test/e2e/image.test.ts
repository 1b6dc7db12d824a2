/**
 * The session image as it is built and run by a real engine. With PI_SANDBOX_INSTALLATION_PREFIX the image of that
 * installation is used and left; otherwise one is made and removed.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InstallationPrefix } from '../../src/cli/config/keys.ts';
import { ensureImage, imageStatus, planImage, pruneImages } from '../../src/cli/sandbox/image.ts';
import { type Engine, openEngine } from '../../src/engine/index.ts';

const GIVEN_PREFIX = process.env.PI_SANDBOX_INSTALLATION_PREFIX;
const PREFIX = InstallationPrefix.parse(GIVEN_PREFIX ?? 'e2e-image-');
const SETTINGS = {
  BASE_IMAGE: process.env.PI_SANDBOX_BASE_IMAGE ?? 'node:24-bookworm-slim',
  IMAGE_EXTRA: undefined,
  PI_VERSION: '1.6.0',
};
const CERTIFICATES = process.env.NODE_EXTRA_CA_CERTS ?? process.env.SSL_CERT_FILE;
const CLI = '/opt/pi-sandbox/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js';

let engine: Engine;
let image: string;

const build = (plan: ReturnType<typeof planImage>) =>
  ensureImage({ engine, plan, env: process.env, certificates: CERTIFICATES, offlineBase: 'use' });

beforeAll(async () => {
  engine = await openEngine({ env: process.env });
  image = (await build(planImage(PREFIX, SETTINGS))).name;
}, 600_000);

afterAll(async () => {
  if (GIVEN_PREFIX === undefined) {
    const ours = await engine.images.list({ 'pi-sandbox.prefix': PREFIX });
    for (const { tags, id } of ours) await engine.images.remove(tags[0] ?? id);
  }
  engine.close();
});

/** Runs a script in the image as a sandbox would be restricted; the volumes' places are scratch. */
function inImage(
  script: string,
  { user = '1000:1000', env = {} }: { user?: string; env?: Record<string, string> } = {},
) {
  const [uid, gid] = user.split(':');
  const scratch = (path: string) => ['--tmpfs', `${path}:exec,mode=0700,uid=${uid},gid=${gid}`];
  const run = spawnSync(
    'docker',
    [
      ...[
        'run',
        '--rm',
        '--read-only',
        '--cap-drop=ALL',
        '--security-opt=no-new-privileges',
        '--network=none',
      ],
      ...['--user', user, '--entrypoint', 'sh', '--tmpfs', '/tmp:exec', ...scratch('/run/pi-session')],
      ...[...scratch(`/run/user/${uid}`), ...scratch('/home/pi')],
      ...[
        '-e',
        'HOME=/home/pi/.pi/domain/home',
        '-e',
        'PI_CODING_AGENT_DIR=/run/pi-session/agent',
        '-e',
        'PI_OFFLINE=1',
      ],
      ...['-e', `XDG_RUNTIME_DIR=/run/user/${uid}`, '-e', 'PI_SANDBOX_DEMO=1'],
      ...Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]),
      ...[image, '-c', `set -e; ${PREPARE}; ${script}`],
    ],
    { encoding: 'utf8', timeout: 100_000 },
  );
  return { stdout: run.stdout.trim(), stderr: run.stderr.trim(), status: run.status };
}

/** What the supervisor does at a start, as far as these tests need it. */
const PREPARE = [
  'mkdir -p "$HOME" /home/pi/.pi/agent/sessions /run/pi-session/agent /run/pi-session/etc "$XDG_RUNTIME_DIR/pi-sandbox"',
  'ln -s /home/pi/.pi/agent/sessions /run/pi-session/agent/sessions',
  'echo "pi:x:$(id -u):$(id -g)::$HOME:/bin/bash" > /run/pi-session/etc/passwd',
  'echo "pi:x:$(id -g):" > /run/pi-session/etc/group',
].join('; ');

describe('the session image', () => {
  it('S21: has the tools, pi and a UTF-8 locale', () => {
    const tools = 'git rg fd curl jq less ssh tini ps tmux socat flock node npm pi';
    const { stdout, stderr } = inImage(
      `for t in ${tools}; do command -v $t >/dev/null || echo no $t; done; pi --version; locale charmap`,
    );
    expect({ stdout, stderr }).toEqual({ stdout: '1.6.0\nUTF-8', stderr: '' });
  });

  it('S17: keeps no setuid or setgid bit', () => {
    expect(inImage('find / -xdev -type f -perm /6000 2>/dev/null || :').stdout).toBe('');
  });

  it.each(['0:0', '1000:1000', '1001:1001', '60001:60001', '1000:100'])(
    'S2: uid:gid %s is the user pi',
    (user) => {
      const { stdout, stderr, status } = inImage(
        `whoami; node -p 'const u = os.userInfo(); u.username + " " + u.homedir'; ssh -V; cd /tmp; git init -q r; cd r;
       git -c user.name=n -c user.email=e commit -q --allow-empty -m m; git log --format=%s`,
        { user },
      );
      expect(stderr).toContain('OpenSSH');
      expect({ stdout, status }).toEqual({ stdout: 'pi\npi /home/pi/.pi/domain/home\nm', status: 0 });
    },
  );

  it("S21: Node takes pi's modules from the baked compile cache, for uid 1000 as it is", () => {
    const { stdout } = inImage(
      `NODE_DEBUG_NATIVE=COMPILE_CACHE node ${CLI} --version 2>&1 | grep -c "was accepted"`,
    );
    expect(Number(stdout)).toBeGreaterThan(10);
  });

  it('S21: and for another uid through a link in the memory file system', () => {
    const { stdout } = inImage(
      `name=$(cat /opt/pi-sandbox/compile-cache.name); mkdir /run/pi-session/compile-cache;
       ln -s "/opt/pi-sandbox/compile-cache/$name" "/run/pi-session/compile-cache/\${name%-*}-$(id -u)";
       NODE_DEBUG_NATIVE=COMPILE_CACHE node ${CLI} --version 2>&1 | grep -c "was accepted"`,
      { user: '60001:60001', env: { NODE_COMPILE_CACHE: '/run/pi-session/compile-cache' } },
    );
    expect(Number(stdout)).toBeGreaterThan(10);
  });

  it('S10: holds no certificate, proxy or registry of the machine that built it', async () => {
    expect(
      inImage(
        'find / -xdev -name "ca-certificates.crt" -not -path "/etc/ssl/*"; ls -A /opt/pi-sandbox; ls -A /tmp',
      ).stdout,
    ).not.toMatch(/\.crt|npmrc|warm/);
    const history = spawnSync('docker', ['history', '--no-trunc', image], { encoding: 'utf8' }).stdout;
    expect(history).toContain('setpriv');
    expect(history).not.toMatch(/REGISTRY|PROXY/i);
  });

  it('S21: its labels hold version and hash, and it is current', async () => {
    const status = await imageStatus(engine, planImage(PREFIX, SETTINGS));
    expect(status.state).toBe('current');
    expect(status.current?.labels).toMatchObject({
      'pi-sandbox.hash': image.slice(-16),
      'pi-sandbox.prefix': PREFIX,
    });
  });

  it('S11: a repository that sets sessionDir does not get the Session', () => {
    const { stdout } = inImage(
      `mkdir -p /tmp/p/.pi; cd /tmp/p; echo '{"sessionDir":"/tmp/evil"}' > .pi/settings.json;
       pi -p "run echo one" </dev/null >/dev/null; find /tmp/evil /home/pi/.pi/agent/sessions -name '*.jsonl' -printf '%h\\n' 2>/dev/null || :`,
    );
    expect(stdout).toBe('/home/pi/.pi/agent/sessions/--tmp-p--');
  });

  it("S11: -c goes on with this directory's Session, also where another directory shares the folder", () => {
    const { stdout } = inImage(
      `mkdir -p /tmp/a/b /tmp/a-b; cd /tmp/a/b; pi -p "run echo one" </dev/null >/dev/null;
       cd /tmp/a-b; pi -c -p "run echo two" </dev/null >/dev/null; cd /tmp/a/b; pi -c -p "run echo three" </dev/null >/dev/null;
       cd /home/pi/.pi/agent/sessions/--tmp-a-b--; for f in ./*; do
       printf '%s: ' "$(head -n 1 $f | jq -r .cwd)"; jq -r 'select(.message.role == "user").message.content[0].text' $f | tr '\\n' ,; echo; done`,
    );
    expect(stdout.split('\n').sort()).toEqual([
      '/tmp/a-b: run echo two,',
      '/tmp/a/b: run echo one,run echo three,',
    ]);
  });

  it("S11: --session <id> resumes another project's Session in that project's directory", () => {
    const { stdout } = inImage(
      `mkdir -p /tmp/one /tmp/two; cd /tmp/one; pi --session-id first -p "run pwd" </dev/null >/dev/null 2>&1;
       cd /tmp/two; pi --session first -p "run pwd" </dev/null; find /home/pi/.pi/agent/sessions -name '*.jsonl'`,
    );
    expect(stdout).toContain('/tmp/one');
    expect(stdout).not.toContain('--tmp-two--');
  });

  it('S22: IMAGE_EXTRA goes on top, and prune then removes it and keeps the current one', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'pi-sandbox-extra-'));
    try {
      writeFileSync(join(directory, 'extra'), 'RUN echo mine > /opt/mine\n');
      const withExtra = planImage(PREFIX, { ...SETTINGS, IMAGE_EXTRA: join(directory, 'extra') });
      const { name } = await build(withExtra);
      expect(
        spawnSync('docker', ['run', '--rm', '--entrypoint', 'cat', name, '/opt/mine'], { encoding: 'utf8' })
          .stdout,
      ).toBe('mine\n');
      const pruned = await pruneImages(engine, planImage(PREFIX, SETTINGS));
      expect(pruned).toContainEqual(expect.objectContaining({ name, outcome: 'removed' }));
      expect(await engine.images.inspect(image)).toBeDefined();
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});

describe('the bridge', () => {
  it('says so when there is no supervisor', () => {
    const { stderr, status, stdout } = inImage('/opt/pi-sandbox/bin/bridge');
    expect({ stdout, status }).toEqual({ stdout: '', status: 69 });
    expect(stderr).toBe('pi-sandbox bridge: the supervisor is not listening in /run/user/1000/pi-sandbox');
  });

  it('S14: gives the token line and then carries bytes both ways, up to the last after the end of input', () => {
    const server =
      "const s=net.createServer({allowHalfOpen:true},c=>{let n=0;c.on('data',d=>n+=d.length);c.on('end',()=>setTimeout(()=>{c.end('got '+n);s.close()},700))}).listen(process.argv[1])";
    const { stdout } = inImage(
      `d=$XDG_RUNTIME_DIR/pi-sandbox; printf secret > $d/token; node -e "${server}" $d/supervisor.sock & sleep 0.5;
       head -c 300000 /dev/zero | /opt/pi-sandbox/bin/bridge; wait`,
    );
    expect(stdout).toBe('secret\ngot 300000');
  });
});
