/**
 * S5: nothing that one domain can write is executed or read as instructions in another, but the pi packages and the
 * caches, which are shared on purpose. Everything that a shell, git, npm, ssh and pi read by themselves is planted in the
 * shared volume. The same plant in the planter's own home is the proof that it would work.
 */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ENGINES, readyEngine } from '../setup/engines.ts';
import { type Installation, installation } from '../setup/installation.ts';
import { inspect, sandboxOf } from '../setup/look.ts';
import { type ModelServer, modelServer } from '../setup/model-server.ts';

/** Below a home directory. `ran` leaves a file in the home of whoever runs it, by the name of what was run. */
const PLANT_HOME = `
put() { mkdir -p "$(dirname "$1")" && cat > "$1" && chmod 755 "$1"; }
ran() { echo ": > /home/pi/.pi/domain/home/RAN-$1"; }
for f in .bashrc .bash_profile .bash_login .profile .bash_logout .bash_aliases .zshrc .env; do ran $f | put "$at/$f"; done
printf '[planted]\\n\\tkey = PLANTED\\n[alias]\\n\\tplanted = !%s\\n' "$(ran git-alias)" | tee "$at/.gitconfig.new" | put "$at/.config/git/config"; mv "$at/.gitconfig.new" "$at/.gitconfig"
echo 'init-module=PLANTED' | put "$at/.npmrc"
printf 'Host planted\\n\\tHostName evil-PLANTED\\n' | put "$at/.ssh/config"
echo 'write-out = PLANTED' | put "$at/.curlrc"
echo 'set -g status-left PLANTED' | put "$at/.tmux.conf"
for bin in .local/bin bin .bin; do for p in git fd rg node npm; do { echo '#!/bin/sh'; ran $bin-$p; } | put "$at/$bin/$p"; done; done
for dir in .agents/skills/planted .pi/skills/planted .claude/skills/planted; do
  printf -- '---\\nname: planted\\ndescription: PLANTED\\n---\\nPLANTED\\n' | put "$at/$dir/SKILL.md"; done
for f in AGENTS.md CLAUDE.md .pi/AGENTS.md .claude/CLAUDE.md; do echo PLANTED | put "$at/$f"; done
`;

/** In pi's agent directory. */
const PLANT_AGENT = `
extension() { printf 'import fs from "node:fs"; export default function () { fs.writeFileSync("/home/pi/.pi/domain/home/RAN-%s", ""); }' "$1"; }
extension extension | put "$at/extensions/planted.ts"
for name in skills/planted skills.d/planted; do
  printf -- '---\\nname: planted\\ndescription: PLANTED\\n---\\nPLANTED\\n' | put "$at/$name/SKILL.md"; done
for f in AGENTS.md CLAUDE.md SYSTEM.md APPEND_SYSTEM.md MEMORY.md USER.md prompts/planted.md agents/planted.md; do echo PLANTED | put "$at/$f"; done
echo '{"mcpServers":{"planted":{"command":"sh","args":["-c","'"$(ran mcp)"'"]}}}' | put "$at/mcp.json"
echo '{"defaultModel":"PLANTED","appendSystemPrompt":"PLANTED","shellCommandPrefix":"'"$(ran prefix)"'","extensions":["'"$at"'/extensions/planted.ts"]}' | put "$at/settings.json"
echo '{"providers":{"fake":{"baseUrl":"http://127.0.0.1:9/PLANTED"}}}' | put "$at/models.json"
echo '{"fake":{"models":[]},"PLANTED":{}}' | put "$at/models-store.json"
echo '{"app.exit":"x"}' | put "$at/keybindings.json"
for p in git fd rg bash ls; do { echo '#!/bin/sh'; ran bin-$p; } | put "$at/bin/$p"; done
for dir in tools hooks commands themes; do { echo '#!/bin/sh'; ran $dir; } | put "$at/$dir/planted"; done
`;

/** Everything that reads such files by itself, then what came of it. */
const USE = `
cd "$PWD"; for shell in 'bash -lic' 'bash -ic' 'bash -c' 'sh -lc'; do $shell : ; done >/dev/null 2>&1
git status >/dev/null 2>&1; git planted >/dev/null 2>&1
echo "git $(git config planted.key)"; echo "npm $(npm config get init-module)"; echo "ssh $(ssh -G planted | sed -n 's/^hostname //p')"
curl -s file:///dev/null | grep -c PLANTED; env | grep -c PLANTED
ls ~ | grep RAN- | sort
`;

describe.each(ENGINES)('S5: what one domain plants, on %s', (kind) => {
  let here: Installation;
  let red: string;
  let blue: string;
  let model: ModelServer;

  beforeAll(async () => {
    here = await installation(await readyEngine(kind, inject('e2e')));
    model = await modelServer();
    here.configure('.env', 'DOMAINS=red,blue\nDEFAULT_DOMAIN=red\n');
    here.configure('config/models.json', model.models);
    here.configure('config/settings.json', model.settings);
    model.callBash('use it', 'git --version; ls; fd --version; rg --version', 'used');
    [red, blue] = [here.project(), here.project()];
    const shared = '/run/pi-agent-state';
    const planted = await shell(
      'red',
      `set -e; at=${shared}; ${PLANT_HOME} at=${shared}/.pi/agent; ${PLANT_AGENT}`,
    );
    expect(planted).toMatchObject({ exitCode: 0, stderr: '' });
  });

  afterAll(async () => {
    await model?.stop();
    await here.cleanup();
    expect(await here.leftovers()).toEqual([]);
  });

  const shell = (domain: 'red' | 'blue', script: string) =>
    here.run(['shell', '--domain', domain, domain === 'red' ? red : blue, '--', 'bash', '-c', script]);

  it('S5: the shared volume is all that two domains can both write', async () => {
    await shell('blue', 'true');
    const [one, two] = await Promise.all(
      [red, blue].map(async (project) => (await inspect(here, await sandboxOf(here, project))).Mounts),
    );
    const names = (mounts: typeof one = []) => mounts.map(({ Name, Source }) => Name ?? Source);
    expect(names(one).filter((name) => names(two).includes(name))).toEqual([`${here.prefix}pi-agent-state`]);
  });

  it('S5: in its own home such a plant works, so that the next test could fail', async () => {
    await shell('red', `at=~; ${PLANT_HOME}`);
    const { stdout } = await shell('red', USE);
    expect(stdout).toMatch(/^git PLANTED\nnpm \S*PLANTED\nssh evil-PLANTED\n1\n/i);
    for (const name of ['.bashrc', '.bash_profile', '.profile', 'git-alias'])
      expect(stdout).toContain(`RAN-${name}\n`);
  });

  it('S5: in another domain no shell, git, npm, ssh or curl reads it', async () => {
    const { stdout } = await shell('blue', USE);
    expect(stdout).toMatch(/^git \nnpm \S+\.npm-init\.js\nssh planted\n0\n0\n$/);
  });

  it('S5: nor does pi, as a program, a setting or an instruction', async () => {
    const before = model.requests().length;
    const answer = await here.run(['start', '--domain', 'blue', blue, '--', '-p', 'use it']);
    expect(answer).toMatchObject({ exitCode: 0, stdout: 'used\n', stderr: '' });
    const asked = model.requests().slice(before);
    expect(asked).toHaveLength(2);
    expect(JSON.stringify(asked)).not.toContain('PLANTED');
    expect((await shell('blue', 'pi mcp list; pi list; ls ~')).stdout).not.toMatch(/planted|RAN-/i);
  });

  it('S5: a pi package is shared on purpose, and with PRIVATE_PACKAGES it is the domain’s own', async () => {
    here.configure(
      'config/settings.json',
      JSON.stringify({ ...JSON.parse(model.settings), packages: ['npm:hello'] }),
    );
    const install = (word: string) => `
      cd "$PI_CODING_AGENT_DIR/npm"; mkdir -p node_modules/hello; echo '{"dependencies":{"hello":"1.0.0"}}' > package.json
      echo '{"name":"hello","version":"1.0.0","pi":{"extensions":["./index.mjs"]}}' > node_modules/hello/package.json
      echo 'import fs from "node:fs"; export default () => fs.writeFileSync("/home/pi/.pi/domain/home/RAN-package", "${word}");' > node_modules/hello/index.mjs`;
    // Red's is the last word wherever the two share the place.
    const packageThatRan = async (env: NodeJS.ProcessEnv) => {
      await here.run(['stop', '--all']);
      for (const [domain, project] of [
        ['blue', blue],
        ['red', red],
      ] as const) {
        const script = `${install(domain)}; rm -f ~/RAN-package`;
        await here.run(['shell', '--domain', domain, project, '--', 'bash', '-c', script], { env });
      }
      await here.run(['start', '--domain', 'blue', blue, '--', '-p', 'use it'], { env });
      return (await shell('blue', 'cat ~/RAN-package')).stdout;
    };
    expect(await packageThatRan({})).toBe('red');
    expect(await packageThatRan({ PI_SANDBOX_PRIVATE_PACKAGES: 'true' })).toBe('blue');
  });
});
