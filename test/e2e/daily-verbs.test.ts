import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { eventually, inspect, sandboxes, sandboxOf } from '../setup/look.ts';
import { terminal } from '../setup/terminal.ts';

let here: Installation;
let project: string;

beforeAll(async () => {
  here = await installation();
  project = here.project();
  await here.run(['shell', project, '--', 'true']);
});

afterAll(async () => {
  await here.cleanup();
  expect(await here.leftovers()).toEqual([]);
});

describe('S15: exec', () => {
  it('S15: runs in a sandbox that runs, with bytes, directory, variables and exit code as they are', async () => {
    const input = Buffer.from(Array.from({ length: 256 }, (_, at) => at)).toString('latin1');
    const script = 'cat; echo "$X $PWD" >&2; exit 7';
    const result = await here.run(['exec', project, '-w', '/tmp', '-e', 'X=a b', '--', 'sh', '-c', script], {
      input,
    });
    expect(result).toEqual({ exitCode: 7, signal: undefined, stdout: input, stderr: 'a b /tmp\n' });
    expect(await here.run(['exec', '--', 'pwd'], { cwd: project })).toMatchObject({ stdout: `${project}\n` });
    // As docker's is typed; here a terminal is used where there is one, and never needed.
    expect(await here.run(['exec', '-it', project, '--', 'pwd'])).toMatchObject({ stdout: `${project}\n` });
  });

  it('S15: starts nothing, and says what to do', async () => {
    const other = here.project();
    const none = await here.run(['exec', other, '--', 'true']);
    expect(none).toMatchObject({ exitCode: 2, stdout: '' });
    expect(none.stderr).toContain(`no sandbox of ${other}`);
    expect(await here.run(['exec', project])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('which command? it stands after --'),
    });
    expect(await sandboxes(here, other)).toEqual([]);
  });

  it('S14: SIGTERM to the command reaches the program in the sandbox', async () => {
    const child = here.start([
      'exec',
      project,
      '--',
      'sh',
      '-c',
      'trap "exit 5" TERM; echo up; while :; do sleep 0.1; done',
    ]);
    const exit = once(child, 'exit');
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    expect(await exit).toEqual([5, null]);
  });
});

describe('S15: inspect', () => {
  it('S15: tells what the engine and the supervisor know', async () => {
    const name = await sandboxOf(here, project);
    const { version, sandbox: facts } = JSON.parse((await here.run(['inspect', project, '--json'])).stdout);
    expect(version).toBe(1);
    expect(facts).toMatchObject({
      name,
      project,
      domain: 'default',
      state: 'running',
      user: `${here.owner.uid}:${here.owner.gid}`,
      limits: { pids: 2048 },
      status: { living: [] },
    });
    expect(facts.mounts).toContainEqual({ type: 'bind', source: project, target: project, readOnly: false });
    const shown = await here.run(['inspect', name]);
    expect(shown.stdout).toMatch(/^name +\S+\nid +[0-9a-f]{12}\nproject +/);
    expect(JSON.stringify(facts)).not.toContain('TOKEN');
  });
});

describe('S15: restart', () => {
  it('S15: makes the sandbox anew with the options it had, and today’s configuration', async () => {
    const made = here.project();
    await here.run(['shell', made, '-m', '1g', '--name', 'shop2', '-p', '9999', '--', 'touch', '/tmp/old']);
    const before = (await inspect(here, await sandboxOf(here, made))).Id;
    const result = await here.run(['restart', 'shop2'], { env: { PI_SANDBOX_PIDS: '999' } });
    expect(result).toMatchObject({ exitCode: 0, stderr: '', stdout: `${await sandboxOf(here, made)}\n` });
    const after = await inspect(here, await sandboxOf(here, made));
    expect(after.Id).not.toBe(before);
    expect(after.HostConfig).toMatchObject({ Memory: 2 ** 30, PidsLimit: 999 });
    expect(Object.keys(after.HostConfig.PortBindings)).toEqual(['9999/tcp']);
    expect((await here.run(['exec', 'shop2', '--', 'ls', '/tmp'])).stdout).toBe('');
    await here.run(['stop', 'shop2']);
  });

  it('S15: what cannot start again is not ended', async () => {
    const name = (await inspect(here, await sandboxOf(here, project))).Id;
    here.configure('config/settings.json', '{ broken');
    const result = await here.run(['restart', project]);
    here.configure('config/settings.json', '{}');
    expect(result).toMatchObject({ exitCode: 2, stdout: '' });
    expect((await inspect(here, await sandboxOf(here, project))).Id).toBe(name);
  });
});

describe('S15: stop --when-idle', () => {
  it('S15: ends one with nothing in it at once', async () => {
    const idle = here.project();
    await here.run(['shell', idle, '--', 'true']);
    const name = await sandboxOf(here, idle);
    expect(await here.run(['stop', '--when-idle', idle])).toMatchObject({ exitCode: 0, stdout: `${name}\n` });
    expect(await sandboxes(here, idle)).toEqual([]);
  });

  it('S15: lets what lives end by itself, also what joins afterwards, and is not undone by it', async () => {
    const busy = here.project();
    const first = here.start(['shell', busy, '--', 'sh', '-c', 'echo up; sleep 3; echo done']);
    await once(first.stdout, 'data');
    const asked = await here.run(['stop', '--when-idle', busy]);
    expect(asked).toMatchObject({ exitCode: 0, stdout: '' });
    expect(asked.stderr).toMatch(/ends with client /);
    const exit = once(first, 'exit');
    const joined = await here.run(['shell', busy, '--', 'sh', '-c', 'sleep 4; echo joined']);
    expect(joined).toMatchObject({ exitCode: 0, stdout: 'joined\n' });
    expect(await exit).toEqual([0, null]);
    await eventually('the end', async () => (await sandboxes(here, busy)).length === 0);
  });
});

describe('S15: shell --root', () => {
  it('S15: is root on the domain’s volumes in a container of its own, with nothing of the host, and leaves nothing', async () => {
    const script = `id -u; grep CapEff /proc/self/status; ls -A / | grep -c . >/dev/null; ls ${project} 2>&1; touch /opt/x 2>&1
      stat -c %u /home/pi/.pi/domain /home/pi/.pi/agent/sessions /run/pi-agent-state; ls /sys/class/net; exit 3`;
    const result = await here.run(['shell', '--root', project, '--', 'sh', '-c', script]);
    expect(result.exitCode).toBe(3);
    expect(result.stderr).toContain('run nothing that a session may have put there');
    const [uid, capabilities, listed, written, ...rest] = result.stdout.trimEnd().split('\n');
    expect([uid, capabilities]).toEqual(['0', 'CapEff:\t000000000000000b']);
    expect(listed).toContain('No such file');
    expect(written).toContain('Read-only file system');
    expect(rest).toEqual([...Array(3).fill(String(here.owner.uid)), 'lo']);
    expect(await sandboxes(here, project)).toHaveLength(1);
    expect((await here.leftovers()).filter((line) => line.startsWith('container '))).toHaveLength(1);
  });

  it('S15: in a terminal it is a bash that reads no start-up file of a session', async () => {
    await here.run(['exec', project, '--', 'sh', '-c', 'echo "echo evil" >> ~/.bashrc']);
    const window = terminal(process.execPath, [here.cli, 'shell', '--root', project], {
      env: here.env,
      cwd: project,
    });
    await window.shows(/root:.*#$/m);
    window.type('whoami; tput cols; exit 4\r');
    expect(await window.exited()).toBe(4);
    expect(window.screen()).not.toContain('evil');
    expect(window.screen()).toContain('80');
  });

  it('S15: a domain without volumes has nothing to look at', async () => {
    const result = await here.run(['shell', '--root', project, '--', 'true'], {
      env: { PI_SANDBOX_DOMAINS: 'fresh', PI_SANDBOX_DEFAULT_DOMAIN: 'fresh' },
    });
    expect(result).toMatchObject({ exitCode: 2, stdout: '' });
    expect(result.stderr).toContain('domain fresh has no volumes yet');
  });
});
