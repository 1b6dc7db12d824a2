import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';

let here: Installation;
let project: string;

beforeAll(async () => {
  here = await installation();
  here.configure('.env', 'DOMAINS=work,private\nDEFAULT_DOMAIN=work\n');
  project = here.project();
});

afterEach(async () => {
  await here.run(['stop', '--all']);
});

afterAll(async () => {
  await here.cleanup();
  expect(await here.leftovers()).toEqual([]);
});

const shell = (script: string, domain = 'work', env: NodeJS.ProcessEnv = {}) =>
  here.run(['shell', '--domain', domain, project, '--', 'sh', '-c', script], { env });

const SIGN_INS = [
  ['.config/stackit', 'stackit'],
  ['.config/hcloud', 'hcloud'],
  ['.config/gh', 'gh'],
  ['.kube', 'kube'],
  ['.talos', 'talos'],
];

describe('S3: links in the home', () => {
  it('S3: sign-ins lie in the domain, from ~ and from /home/pi', async () => {
    const places = ['~', '/home/pi'].flatMap((home) => SIGN_INS.map(([name]) => `${home}/${name}`));
    const { stdout } = await shell(`for p in ${places.join(' ')}; do readlink -f $p; done`);
    const targets = SIGN_INS.map(([, name]) => `/home/pi/.pi/domain/cli/${name}`);
    expect(stdout.trimEnd().split('\n')).toEqual([...targets, ...targets]);
  });

  it('S3: a sign-in of one domain is not another’s', async () => {
    await shell('echo secret > ~/.config/gh/hosts.yml; echo secret > /home/pi/.kube/config');
    const result = await shell(
      'cat ~/.config/gh/hosts.yml /home/pi/.kube/config; ls -A ~/.config/gh ~/.kube',
      'private',
    );
    expect(result.stdout).not.toContain('secret');
    expect(result.stdout).not.toContain('hosts.yml');
    expect((await shell('cat ~/.config/gh/hosts.yml /home/pi/.kube/config')).stdout).toBe('secret\nsecret\n');
  });

  it('S3: a folder where a link belongs is set aside once, by its name, and never copied', async () => {
    await shell('cd /run/pi-agent-state && rm .kube && mkdir .kube && echo old > .kube/config');
    await here.run(['stop', '--all']);
    const first = await shell(
      'cd /run/pi-agent-state; cat .kube.shared/config; readlink .kube; rm .kube; mkdir .kube; touch .kube/x',
    );
    expect(first.stdout).toBe('old\n/home/pi/.pi/domain/cli/kube\n');
    await here.run(['stop', '--all']);
    const second = await shell('cd /run/pi-agent-state; ls -d .kube.shared*; readlink .kube');
    expect(second.stdout).toBe('.kube.shared\n.kube.shared-2\n/home/pi/.pi/domain/cli/kube\n');
  });

  it('S3: the environment is everywhere, also in what the engine’s exec starts', async () => {
    const expected = {
      HOME: '/home/pi/.pi/domain/home',
      PI_CODING_AGENT_DIR: '/run/pi-session/agent',
      XDG_STATE_HOME: '/home/pi/.pi/domain/state',
      XDG_DATA_HOME: '/home/pi/.pi/domain/data',
      XDG_RUNTIME_DIR: `/run/user/${here.owner.uid}`,
      HERMIT_STATE_DIR: '/home/pi/.pi/domain/cli/hermit',
      GH_CONFIG_DIR: '/home/pi/.pi/domain/cli/gh',
      KUBECONFIG: '/home/pi/.pi/domain/cli/kube/config',
      TALOSCONFIG: '/home/pi/.pi/domain/cli/talos/config',
    };
    const print = `printf '%s\\n' ${Object.keys(expected)
      .map((name) => `"$${name}"`)
      .join(' ')}; env | grep -c '^HCLOUD_CONFIG='; hostname`;
    const { stdout } = await shell(print);
    expect(stdout.split('\n').slice(0, -2)).toEqual(
      [...Object.values(expected), '1', expect.any(String)].slice(0, -1),
    );
    const [name = ''] = (
      await here.engine.command(['ps', '--filter', `label=pi-sandbox.prefix=${here.prefix}`, '-q'])
    ).split('\n');
    expect(await here.engine.command(['exec', name, 'sh', '-c', print])).toBe(stdout.trimEnd());
  });

  it('S2: what SHARED_LINKS names is shared between domains', async () => {
    const env = { PI_SANDBOX_SHARED_LINKS: '.cargo/registry' };
    await shell('echo crate > ~/.cargo/registry/crate', 'work', env);
    expect((await shell('cat ~/.cargo/registry/crate', 'private', env)).stdout).toBe('crate\n');
  });

  it('S5: a domain cannot move another’s mounts by renaming the folders above them', async () => {
    const write =
      'for n in $(seq 40); do echo secret > /home/pi/.pi/domain/word; echo secret > /home/pi/.pi/agent/sessions/word; sleep 0.1; done';
    const rename =
      'sleep 1; for at in /home/pi /run/pi-agent-state; do mv $at/.pi $at/old; mkdir -p $at/.pi/domain $at/.pi/agent/sessions; done 2>/dev/null; sleep 2; grep -rl secret /home/pi /run/pi-agent-state';
    const [, attack] = await Promise.all([shell(write), shell(rename, 'private')]);
    expect(attack.stdout).toBe('');
    const mine = await shell(
      'cat ~/.pi/domain/word; rm -rf /run/pi-agent-state/old; grep -rl secret /run/pi-agent-state',
    );
    expect(mine.stdout).toBe('secret\n');
  });

  it('S2: everything else in ~ is the domain’s own', async () => {
    await shell('echo secret | tee ~/.npmrc ~/.bash_history > ~/.aws-credentials');
    const result = await shell(
      'cat ~/.npmrc ~/.bash_history ~/.aws-credentials 2>/dev/null; grep -rl secret /home/pi /run/pi-agent-state 2>/dev/null',
      'private',
    );
    expect(result.stdout).toBe('');
  });
});

describe('S4: the links of the agent directory', () => {
  it('S4: every one of the seed’s paths leads where it belongs', async () => {
    const { stdout } = await shell(
      'cd ~/.pi/agent && readlink -m auth.json npm sessions settings.json mcp-auth.json skills work MEMORY.md; readlink ~/.pi/agent ~/.pi/domain',
    );
    expect(stdout.trimEnd().split('\n')).toEqual([
      '/run/pi-agent-state/.pi/agent/auth.json',
      '/run/pi-agent-state/.pi/agent/npm',
      '/home/pi/.pi/agent/sessions',
      '/run/pi-session/settings.json',
      '/home/pi/.pi/domain/mcp-auth.json',
      expect.stringMatching(/^\/run\/pi-session\/.*skills$/),
      '/home/pi/.pi/domain/agent/work',
      '/home/pi/.pi/domain/agent/MEMORY.md',
      '/run/pi-session/agent',
      '/home/pi/.pi/domain',
    ]);
  });

  it('S4: a file put in a link’s place goes behind it, and the link is there again', async () => {
    const put =
      'cd ~/.pi/agent; echo \'{"a":1}\' > new; mv new mcp-auth.json; sleep 1; readlink mcp-auth.json; cat mcp-auth.json';
    expect((await shell(put)).stdout).toBe('/home/pi/.pi/domain/mcp-auth.json\n{"a":1}\n');
    await here.run(['stop', '--all']);
    expect((await shell('cat /home/pi/.pi/domain/mcp-auth.json')).stdout).toBe('{"a":1}\n');
  });

  it('S4: what was put there last before the end is kept too', async () => {
    await shell('cd ~/.pi/agent; echo last > new; mv new mcp-auth.json');
    await here.run(['stop', '--all']);
    expect((await shell('cat ~/.pi/agent/mcp-auth.json')).stdout).toBe('last\n');
  });

  it('S4: rm of trust.json deletes the trust decisions', async () => {
    await shell(
      `echo '{"/somewhere":true}' > ~/.pi/agent/trust.json; sleep 1; cat /home/pi/.pi/agent/trust.json`,
    );
    await here.run(['stop', '--all']);
    expect((await shell('cat ~/.pi/agent/trust.json')).stdout).toContain('/somewhere');
    await shell('rm ~/.pi/agent/trust.json; sleep 1');
    await here.run(['stop', '--all']);
    expect(
      (await shell('cat ~/.pi/agent/trust.json /home/pi/.pi/agent/trust.json 2>/dev/null')).stdout,
    ).not.toContain('/somewhere');
  });

  it('S4: a first login through the link, whose target does not exist yet, works', async () => {
    await shell(
      'rm -f /home/pi/.pi/agent/auth.json; echo login > ~/.pi/agent/auth.json; stat -c %a /home/pi/.pi/agent/auth.json',
    );
    await here.run(['stop', '--all']);
    expect((await shell('cat ~/.pi/agent/auth.json', 'private')).stdout).toBe('login\n');
  });
});
