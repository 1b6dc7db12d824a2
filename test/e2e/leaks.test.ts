/**
 * S5, rule 4: everything that writes is run once in one domain, with a marker in its prompts, files, names, arguments and
 * environment. The marker must be where the domain keeps it, and nowhere in what the domains share.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { hostUlimits } from '../../src/engine/host-limits.ts';
import { ENGINES, readyEngine } from '../setup/engines.ts';
import { type Installation, installation } from '../setup/installation.ts';
import { eventually, processesOf, sandboxOf } from '../setup/look.ts';
import { type ModelServer, modelServer } from '../setup/model-server.ts';
import { terminal } from '../setup/terminal.ts';

const MARKER = `zq${randomBytes(8).toString('hex')}qz`;

/** Stand-ins for command-line tools: each writes where the real one does, by its variables and by its fixed paths. */
const STAND_INS = `
put() { mkdir -p "$(dirname "$1")" && echo ${MARKER} > "$1"; }
put "$GH_CONFIG_DIR/hosts.yml"; put ~/.config/gh/config.yml; put "\${XDG_CACHE_HOME:-$HOME/.cache}/gh/run-log-1.zip"
put "$XDG_STATE_HOME/gh/state.yml"; put "$XDG_DATA_HOME/gh/extensions/gh-${MARKER}/manifest.yml"
put "$KUBECONFIG"; put ~/.kube/cache/discovery/${MARKER}/servergroups.json; put /home/pi/.kube/kubectx
put "$HCLOUD_CONFIG"; put "$TALOSCONFIG"; put ~/.config/stackit/cli-auth-storage.txt; put "$HERMIT_STATE_DIR/log"
put "\${XDG_CACHE_HOME:-$HOME/.cache}/stackit/${MARKER}.json"
put ~/.ssh/known_hosts; put ~/.aws/credentials; put ~/.docker/config.json; put ~/.python_history; put ~/.config/other/x
`;

const GIT = `
git init -q repo; cd repo; git config --global user.name ${MARKER}; git config --global user.email ${MARKER}@example.org
echo ${MARKER} > a; git add a; git commit -qm ${MARKER}
git config --global credential.helper store
printf 'protocol=https\\nhost=example.org\\nusername=me\\npassword=${MARKER}\\n\\n' | git credential approve
printf 'protocol=https\\nhost=two.example\\nusername=me\\npassword=${MARKER}\\n\\n' | git credential-cache store
`;

const NPM = `
npm config set //registry.example/:_authToken ${MARKER}
mkdir pkg; echo '{"name":"${MARKER}","version":"1.0.0"}' > pkg/package.json
(cd pkg && npm pack --silent >/dev/null); mkdir app; cd app; npm init -y >/dev/null; npm install --offline ../pkg/*.tgz >/dev/null
`;

/** What extensions keep in pi's agent directory, also under a name that nobody has heard of. */
const EXTENSION_STATE = `
cd "$PI_CODING_AGENT_DIR"
for d in multi-agent-sessions work worktrees state cache okf-memory agents tmp bin; do echo ${MARKER} > $d/${MARKER}; done
for f in MEMORY.md USER.md pi-debug.log mcp.log; do echo ${MARKER} > $f; done
for f in mcp-auth.json models-store.json new-extension.json; do echo '{"${MARKER}":{}}' > $f; done
mkdir -p new-extension; echo ${MARKER} > new-extension/${MARKER}
`;

/** Fails only when somebody calls it, outside of any call of pi's: pi writes down such an end. */
const CRASHING = `export default function () { setTimeout(() => { throw new Error('${MARKER} crash'); }, 1_500); }`;

describe.each(ENGINES)('S5: what a domain says stays in it, on %s', (kind) => {
  let here: Installation;
  let project: string;
  let model: ModelServer;

  beforeAll(async () => {
    here = await installation(await readyEngine(kind, inject('e2e')));
    model = await modelServer();
    here.configure('.env', 'DOMAINS=red,blue\nDEFAULT_DOMAIN=red\n');
    here.configure('config/models.json', model.models);
    const looks = { quietStartup: true, defaultProjectTrust: 'never', tuiMode: 'regular' };
    here.configure('config/settings.json', JSON.stringify({ ...JSON.parse(model.settings), ...looks }));
    here.configure('config/domains/red/AGENTS.md', `The word is ${MARKER}.\n`);
    project = here.project(undefined, `shop ${MARKER}`);
    mkdirSync(join(project, '.pi-sandbox'));
    writeFileSync(join(project, '.pi-sandbox/AGENTS.md'), `The word is ${MARKER}.\n`);
    writeFileSync(join(project, 'crash.mjs'), CRASHING);
  });

  afterAll(async () => {
    await model?.stop();
    await here.cleanup();
    expect(await here.leftovers()).toEqual([]);
  });

  const inRed = (script: string) => here.run(['shell', project, '--', 'bash', '-c', script]);
  const window = (...words: string[]) =>
    terminal(process.execPath, [here.cli, ...words], { env: here.env, cwd: project, columns: 120 });

  /** As root, in a container of no sandbox's: files of a volume whose content, name or link holds the marker. */
  async function traces(volume: string): Promise<string[]> {
    const limits = kind === 'podman' ? await hostUlimits() : [];
    const printed = await here.engine.command([
      ...['run', '--rm', '--network', 'none', '--user', '0:0', '--entrypoint', 'sh'],
      ...limits.flatMap(({ name, soft, hard }) => ['--ulimit', `${name}=${soft}:${hard}`]),
      ...['--mount', `type=volume,source=${here.prefix}${volume},target=/v,ro`, here.image, '-c'],
      `cd /v; { grep -rlaiF -D skip ${MARKER} .; find . -iname '*${MARKER}*' -o -ilname '*${MARKER}*'; } | sort -u`,
    ]);
    return printed.split('\n').filter((line) => line !== '');
  }

  it('S5: pi with a prompt, a tool call and an answer', async () => {
    model.callBash(`${MARKER} write`, `echo ${MARKER} | tee ${MARKER}.txt /tmp/${MARKER}`, `wrote ${MARKER}`);
    const result = await here.run(['start', '-e', `WORD=${MARKER}`, project, '--', '-p', `${MARKER} write`]);
    expect(result).toMatchObject({ exitCode: 0, stdout: `wrote ${MARKER}\n` });
  });

  it('S5: pi in a terminal, its Session named', async () => {
    model.say(`${MARKER} talk`, `Talked ${MARKER}.`);
    const pi = window('start', project);
    await pi.shows('fake-1');
    pi.type(`${MARKER} talk`);
    // pi takes no prompt before all of it is up, and keeps what was typed.
    const enter = setInterval(() => pi.type('\r'), 1_000);
    await pi.shows(`Talked ${MARKER}`).finally(() => clearInterval(enter));
    pi.type(`/name ${MARKER}\r`);
    pi.type(`!echo bang ${MARKER}\r`);
    await pi.wrote(new RegExp(`bang ${MARKER}[^]*bang ${MARKER}`));
    pi.type('\u0004');
    expect(await pi.exited()).toBe(0);
  });

  it('S5: a shell with its history, git, npm, sign-ins and what extensions keep', async () => {
    const shell = window('shell', project);
    await shell.shows('$');
    shell.type(`: ${MARKER}\rexit\r`);
    expect(await shell.exited()).toBe(0);
    for (const script of [GIT, NPM, STAND_INS, EXTENSION_STATE]) {
      expect(await inRed(`set -e; cd "$(mktemp -d)"; ${script}`)).toMatchObject({ exitCode: 0 });
    }
  });

  it('S5: exec and cp', async () => {
    const name = `${MARKER}.in`;
    writeFileSync(join(here.directory, name), MARKER);
    expect(await here.run(['cp', join(here.directory, name), `${project}:~/`])).toMatchObject({
      exitCode: 0,
    });
    const words = ['-e', `WORD=${MARKER}`, '--', 'sh', '-c', `echo ${MARKER}`, MARKER];
    expect(await here.run(['exec', project, ...words])).toMatchObject({ exitCode: 0 });
  });

  it('S5: pi that crashes, pi that is killed within a turn, a sandbox that is killed', async () => {
    const crash = window('start', project, '--', '-e', 'crash.mjs');
    expect(await crash.exited()).not.toBe(0);
    expect(await crash.wrote(`${MARKER} crash`)).toContain('crash');
    const container = await sandboxOf(here, project);
    const ends = [
      ['exec', container, 'pkill', '-KILL', '-x', 'pi'],
      ['kill', container],
    ];
    for (const [at, end] of ends.entries()) {
      // What the first pi had started outlives it.
      const nap = `sleep 30${at}`;
      model.callBash(`${MARKER} ${nap}`, `${nap}; : ${MARKER}`, 'slept');
      const child = here.start(['start', project, '--', '-p', `${MARKER} ${nap}`]);
      const closed = new Promise((settle) => child.once('close', settle));
      child.stdin.end();
      await eventually('the turn', async () =>
        (await processesOf(here, container)).some((line) => line.trim() === nap),
      );
      await here.engine.command(end);
      await closed;
    }
    // And an end in order, with all that is then put away.
    expect(await inRed(EXTENSION_STATE)).toMatchObject({ exitCode: 0 });
    expect((await here.run(['stop', project])).exitCode).toBe(0);
  });

  it('S5: it was all written, and is where the domain keeps it', async () => {
    const [state, sessions] = await Promise.all([traces('pi-domain-state-red'), traces('pi-sessions-red')]);
    for (const place of [
      'home/.bash_history',
      'home/.gitconfig',
      'home/.git-credentials',
      'home/.npmrc',
      'home/.npm/_logs',
      'home/.aws/credentials',
      'cli/gh/hosts.yml',
      'cli/gh/config.yml',
      'cli/kube/config',
      'cli/kube/cache',
      'cli/kube/kubectx',
      'state/gh',
      'data/gh',
      'mcp-auth.json',
      'agent/MEMORY.md',
      'agent/crashes.json',
      'agent/mcp.log',
      'agent/cache',
      'agent/new-extension.json',
      'agent/new-extension/',
      `home/${MARKER}.in`,
      'logs/sandboxes',
    ]) {
      expect(
        state.some((path) => path.startsWith(`./${place}`)),
        `${place} in ${state.join(' ')}`,
      ).toBe(true);
    }
    expect(sessions.length).toBeGreaterThanOrEqual(3);
  });

  it('S5: and it is nowhere in what the domains share', async () => {
    expect(await traces('pi-agent-state')).toEqual([]);
  });

  it('S5: nor in anything that another domain can read', async () => {
    const script = `echo look; { grep -rlaiF -D skip ${MARKER} /home/pi /run /tmp /brain "$PWD"; find /home/pi /run /tmp -iname '*${MARKER}*'; } 2>/dev/null`;
    const blue = here.project();
    const look = await here.run(['shell', '--domain', 'blue', blue, '--', 'sh', '-c', script]);
    expect(look.stdout).toBe('look\n');
    for (const volume of ['pi-domain-state-blue', 'pi-sessions-blue'])
      expect(await traces(volume)).toEqual([]);
  });

  it('S5: of a trusted project the domains share its path, and nothing else', async () => {
    const trusted = `printf '{"%s":true}' "$PWD" > "$PI_CODING_AGENT_DIR/trust.json"; sleep 0.5`;
    expect((await inRed(trusted)).exitCode).toBe(0);
    expect((await here.run(['stop', project])).exitCode).toBe(0);
    expect(await traces('pi-agent-state')).toEqual(['./.pi/agent/trust.json']);
  });
});
