import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { eventually, inspect, sandboxes, sandboxOf } from '../setup/look.ts';

let here: Installation;
let project: string;

let uid: number;
let owner: string;

beforeAll(async () => {
  here = await installation();
  uid = here.owner.uid;
  owner = `${uid}:${here.owner.gid}`;
  project = here.project();
});

afterEach(async () => {
  await here.run(['stop', '--all']);
});

afterAll(async () => {
  await here.cleanup();
  expect(await here.leftovers()).toEqual([]);
});

const shell = (script: string, options: readonly string[] = []) =>
  here.run(['shell', ...options, project, '--', 'sh', '-c', script]);
const volume = (stem: string) => `${here.prefix}${stem}`;

/** A script as root on a volume, without the code under test. */
const onVolume = (name: string, script: string) =>
  here.engine.command([
    ...['run', '--rm', '--user', '0:0', '--network', 'none', '--entrypoint', 'sh'],
    ...['--mount', `type=volume,source=${name},target=/volume,volume-nocopy`],
    ...[here.image, '-c', `cd /volume; ${script}`],
  ]);

describe('S1: the volumes', () => {
  it('S1: the first start makes the three of its domain, labelled for people', async () => {
    await shell('true');
    const names = ['pi-agent-state', 'pi-sessions-default', 'pi-domain-state-default'];
    expect((await here.leftovers()).filter((line) => line.startsWith('volume '))).toEqual(
      names.map((name) => `volume ${volume(name)}`).sort(),
    );
    const { Labels } = JSON.parse(
      await here.engine.command(['volume', 'inspect', volume('pi-domain-state-default')]),
    )[0];
    expect(Labels).toMatchObject({
      'pi-sandbox.prefix': here.prefix,
      'pi-sandbox.role': 'domain-state',
      'pi-sandbox.domain': 'default',
      'pi-sandbox.version': expect.stringMatching(/^\d+\.\d+\.\d+/),
    });
    const { Mounts } = await inspect(here, await sandboxOf(here, project));
    const mounted = Object.fromEntries(
      Mounts.map(({ Name, Source, Destination }) => [Destination, Name ?? Source]),
    );
    expect(mounted).toEqual({
      '/run/pi-agent-state': volume('pi-agent-state'),
      '/home/pi/.pi/agent/sessions': volume('pi-sessions-default'),
      '/home/pi/.pi/domain': volume('pi-domain-state-default'),
      [project]: project,
    });
  });

  it('S1: volumes list shows them, and what each is for', async () => {
    const { stdout } = await here.run(['volumes', 'list', '--json']);
    const { volumes } = JSON.parse(stdout);
    expect(volumes.map(({ name }: { name: string }) => name).sort()).toEqual(
      ['pi-agent-state', 'pi-domain-state-default', 'pi-sessions-default'].map(volume),
    );
  });

  it('S1: state survives the sandbox', async () => {
    await shell('echo kept > ~/kept; echo shared > /home/pi/.cache/kept; echo "{}" > ~/.pi/agent/auth.json');
    await here.run(['stop', project]);
    const result = await shell('cat ~/kept /home/pi/.cache/kept ~/.cache/kept ~/.pi/agent/auth.json');
    expect(result.stdout).toBe('kept\nshared\nshared\n{}\n');
  });

  it('S1: a volume that was removed by hand is made again, empty', async () => {
    await shell('touch ~/gone');
    await here.run(['stop', project]);
    await here.engine.command(['volume', 'rm', volume('pi-domain-state-default')]);
    const result = await shell('ls -A ~ | grep -c gone; id -un');
    expect(result).toMatchObject({ stdout: '0\npi\n', exitCode: 0 });
  });

  it('S1: volumes that exist are adopted as they are, with their content', async () => {
    const names = ['pi-agent-state', 'pi-sessions-old', 'pi-domain-state-old'].map(volume);
    await here.engine.command(['volume', 'rm', volume('pi-agent-state')]);
    for (const name of names) {
      await here.engine.command(['volume', 'create', name]);
      await onVolume(name, `mkdir -p .pi/agent; echo mine > old.txt; chown -hR ${owner} . ; chmod 0750 .`);
    }
    const result = await shell(
      'cat /run/pi-agent-state/old.txt ~/.pi/agent/sessions/old.txt ~/.pi/domain/old.txt',
      ['--domain', 'old'],
    );
    expect(result).toMatchObject({ exitCode: 2 });
    here.configure('.env', 'DOMAINS=default,old\nDEFAULT_DOMAIN=default\n');
    const adopted = await shell(
      'cat /run/pi-agent-state/old.txt ~/.pi/agent/sessions/old.txt ~/.pi/domain/old.txt',
      ['--domain', 'old'],
    );
    expect(adopted).toMatchObject({ exitCode: 0, stdout: 'mine\nmine\nmine\n' });
    expect(await onVolume(names[2] ?? '', 'stat -c "%u %a" .')).toBe(`${uid} 750`);
  });

  it('S12: history from before domains had their own is nobody’s to read, until it is migrated', async () => {
    await shell('true');
    await here.run(['stop', '--all']);
    const place = '.pi/agent/sessions/--home-me--';
    await onVolume(
      volume('pi-agent-state'),
      `mkdir -p ${place}; echo words > ${place}/a.jsonl; chown -hR ${owner} .pi`,
    );
    const look = await shell(
      `cd /run/pi-agent-state/.pi/agent; ls sessions; cat sessions/*/*; grep -r words /run/pi-agent-state`,
    );
    expect(look.stdout).not.toContain('words');
    expect(look.stderr).toContain('Permission denied');
    await here.run(['stop', '--all']);
    await here.run(['volumes', 'chown', owner, '--yes']);
    expect(
      await onVolume(volume('pi-agent-state'), `cat ${place}/a.jsonl; stat -c %a .pi/agent/sessions`),
    ).toBe('words\n700');
  });

  it('S1: a start that died between making and preparing the volumes is made good by the next', async () => {
    here.configure('.env', 'DOMAINS=default,half\nDEFAULT_DOMAIN=default\n');
    for (const name of ['pi-sessions-half', 'pi-domain-state-half'].map(volume)) {
      await here.engine.command(['volume', 'create', name]);
      // As an engine leaves one that was mounted once without being prepared.
      await onVolume(name, 'chown 0:0 .');
    }
    const since = String(Date.now() / 1_000);
    const memory = ['--memory', '300m', '--domain', 'half'];
    const result = await shell('touch ~/works && stat -c %u ~/works', memory);
    expect(result).toMatchObject({ exitCode: 0, stdout: `${uid}\n` });
    // In the first sandbox, which waits for its volumes, and not in a second one.
    const started = ['--filter', 'event=start', '--filter', 'label=pi-sandbox.role=sandbox'];
    const until = ['--since', since, '--until', String(Date.now() / 1_000)];
    const ours = [...started, '--filter', `label=pi-sandbox.prefix=${here.prefix}`];
    expect((await here.engine.command(['events', ...until, ...ours])).split('\n')).toHaveLength(1);
  });

  it('S1: a prefix is another world', async () => {
    await shell('echo mine > ~/mine');
    const other = await here.run(['ps', '--json'], {
      env: { PI_SANDBOX_INSTALLATION_PREFIX: `${here.prefix}x-` },
    });
    expect(JSON.parse(other.stdout).sandboxes).toEqual([]);
    const volumes = await here.run(['volumes', 'list', '--json'], {
      env: { PI_SANDBOX_INSTALLATION_PREFIX: here.prefix.slice(0, -3) },
    });
    expect(JSON.parse(volumes.stdout).volumes).toEqual([]);
  });
});

describe('S2: whose the volumes are', () => {
  it('S2: another user’s volume is an error that names the repair, and the repair follows no link', async () => {
    const state = volume('pi-domain-state-default');
    await shell('true');
    await here.run(['stop', project]);
    await onVolume(state, 'chown -hR 4242:4242 .; ln -s /etc/passwd planted; ln -s / planted-directory');
    const before = await onVolume(state, 'stat -c %u /etc/passwd');
    const refused = await shell('true');
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain('belongs to uid 4242');
    expect(refused.stderr).toContain(`pi-sandbox volumes chown ${owner}`);
    expect(await sandboxes(here, project)).toEqual([]);
    const unanswered = await here.run(['volumes', 'chown', owner]);
    expect(unanswered.exitCode).toBe(2);
    expect(unanswered.stderr).toContain('--yes');
    const repaired = await here.run(['volumes', 'chown', owner, '--yes']);
    expect(repaired.exitCode).toBe(0);
    expect(
      await onVolume(state, 'stat -c %u planted; stat -c %u /etc/passwd; stat -Lc %u planted-directory'),
    ).toBe(`${uid}\n${before}\n0`);
    expect(await shell('touch ~/works; id -u')).toMatchObject({ exitCode: 0, stdout: `${uid}\n` });
  });

  it('S5: a new name for the folders above old history does not make chown hand it out', async () => {
    const shared = volume('pi-agent-state');
    await shell('mv /run/pi-agent-state/.pi /run/pi-agent-state/.old; ls -A /run/pi-agent-state');
    await here.run(['stop', project]);
    const old = '.old/agent/sessions';
    await onVolume(
      shared,
      `echo words > ${old}/a.jsonl; chown 65533:65533 ${old}/a.jsonl; chmod 0700 ${old}`,
    );
    expect(await here.run(['volumes', 'chown', owner, '--yes'])).toMatchObject({ exitCode: 0 });
    expect(await onVolume(shared, `stat -c %u .old ${old} ${old}/a.jsonl`)).toBe(`${uid}\n65533\n65533`);
    expect((await shell(`cat /run/pi-agent-state/${old}/*; ls /run/pi-agent-state/${old}`)).stdout).toBe('');
    await here.run(['stop', project]);
    await onVolume(shared, 'rm -rf .old');
  });

  it('S2: chown is refused while a sandbox uses the volumes', async () => {
    await shell('true');
    const result = await here.run(['volumes', 'chown', owner, '--yes']);
    expect(result.exitCode).toBe(2);
    expect(result.stderr).toContain('pi-sandbox stop');
  });

  it('S2: no nested mount point belongs to root', async () => {
    const script =
      'stat -c "%u %n" /home/pi /home/pi/.pi /home/pi/.pi/agent /home/pi/.pi/agent/sessions /home/pi/.pi/domain';
    const { stdout } = await shell(script);
    for (const line of stdout.trimEnd().split('\n')) expect(line.split(' ')[0]).toBe(String(uid));
    await here.run(['stop', project]);
    const inside = await onVolume(volume('pi-agent-state'), 'stat -c %u . .pi .pi/agent');
    expect(inside.split('\n')).toEqual(Array(3).fill(String(uid)));
  });

  it('S1: a start killed at any moment leaves what the next one can use', async () => {
    here.configure('.env', 'DOMAINS=default,killed\nDEFAULT_DOMAIN=default\n');
    for (const milliseconds of [250, 450, 700]) {
      for (const name of ['pi-sessions-killed', 'pi-domain-state-killed'].map(volume)) {
        await here.engine.command(['volume', 'rm', '--force', name], { tolerant: true });
      }
      const child = here.start(['shell', '--domain', 'killed', project, '--', 'true']);
      const timer = setTimeout(() => child.kill('SIGKILL'), milliseconds);
      await once(child, 'close');
      clearTimeout(timer);
      const result = await shell('touch ~/works && stat -c %u ~/works', ['--domain', 'killed']);
      expect(result).toMatchObject({ exitCode: 0, stdout: `${uid}\n` });
      await here.run(['stop', '--all']);
    }
    // What was made and never started is cleared away by the next command that needs a helper, after a while.
    await eventually(
      'no helper container',
      async () => {
        await here.run(['ps', '--all']);
        return (await here.leftovers()).every((line) => !line.startsWith('container '));
      },
      40_000,
    );
  });
});
